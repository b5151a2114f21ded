---- MODULE classicPair ----
\* Translated from Quint by `python -m workshop.tlaplus --write`; spec/*.qnt has the sources.
EXTENDS Integers, Sequences, FiniteSets, TLC

VARIABLES group, clients, event, answers, before

\* --- What Quint has and TLA+ has not ---
Put(m, k, v) == [x \in (DOMAIN m) \union {k} |-> IF x = k THEN v ELSE m[x]]
IndicesOf(s) == 0..(Len(s) - 1)
RangeOf(from, to) == [i \in 1..(to - from) |-> from + i - 1]
\* What was folded so far is an element of a set, so that TLC evaluates it once and not wherever `op` names it.
FoldSet(op(_, _), base, S) ==
  LET iter[T \in SUBSET S] ==
        IF T = {} THEN base
        ELSE LET x == CHOOSE y \in T : TRUE IN CHOOSE r \in {op(z, x) : z \in {iter[T \ {x}]}} : TRUE
  IN iter[S]
FoldSeq(op(_, _), base, s) ==
  LET iter[i \in 0..Len(s)] ==
        IF i = 0 THEN base ELSE CHOOSE r \in {op(z, s[i]) : z \in {iter[i - 1]}} : TRUE
  IN iter[Len(s)]
Select(s, test(_)) == SelectSeq(s, test)

nobody ==
  [generation |-> 0, leader |-> "", members |-> [x \in {} |-> 0]]

emptyGroup ==
  [phase |-> "EMPTY", initial |-> FALSE, generation |-> 0, leader |-> "", members |-> [x \in {} |-> 0], pending |-> {}, recorded |-> nobody]

IDS ==
  <<"a", "b">>

ids ==
  {(IDS[i_1 + 1]) : i_1 \in IndicesOf(IDS)}

outside ==
  [place |-> "OUT", generation |-> (-1), metadata |-> 0, owned |-> {}]

Start ==
  [tag |-> "Start"]

init ==
  /\ (group =
        emptyGroup)
  /\ (clients =
        [any_2 \in ids |-> outside])
  /\ (event =
        Start)
  /\ (answers =
        [x \in {} |-> 0])
  /\ (before =
        emptyGroup)

q_init ==
  init

INSTANCES ==
  [x \in {} |-> 0]

instanceOf(id_3) ==
  IF (id_3 \in (DOMAIN INSTANCES))
  THEN
    INSTANCES[id_3]
  ELSE
    ""

GENERATION_MAX ==
  3

\* KIP-345 and CSA: what a client does with an answer. Whoever is told to join again has given its partitions up.
heard(c_4, a_5) ==
  IF ((a_5.error) = "MEMBER_ID_REQUIRED")
  THEN
    [[outside EXCEPT !.place = "PENDING"] EXCEPT !.metadata = (c_4.metadata)]
  ELSE
    IF (\/ ((a_5.error) = "REBALANCE_IN_PROGRESS") \/ ((a_5.error) = "ILLEGAL_GENERATION"))
    THEN
      [[c_4 EXCEPT !.place = "REJOIN"] EXCEPT !.owned = {}]
    ELSE
      IF ((a_5.error) /= "")
      THEN
        outside
      ELSE
        IF ((c_4.place) = "JOINING")
        THEN
          [[[c_4 EXCEPT !.place = "JOINED"] EXCEPT !.generation = (a_5.generation)] EXCEPT !.owned = {}]
        ELSE
          IF ((c_4.place) = "SYNCING")
          THEN
            [[c_4 EXCEPT !.place = "IN"] EXCEPT !.owned = (a_5.assignment)]
          ELSE
            c_4

happens(what_6, outcome_7, now_8) ==
  /\ (((outcome_7.group).generation) <= GENERATION_MAX)
  /\ (group' =
        outcome_7.group)
  /\ (clients' =
        [id_9 \in ids |-> (IF (id_9 \in (DOMAIN (outcome_7.answers))) THEN heard((now_8[id_9]), ((outcome_7.answers)[id_9])) ELSE now_8[id_9])])
  /\ (event' =
        what_6)
  /\ (answers' =
        outcome_7.answers)
  /\ (before' =
        group)

JoinGroup(JoinGroupParam_10) ==
  [tag |-> "JoinGroup", of_JoinGroup |-> JoinGroupParam_10]

error(text_11) ==
  [error |-> text_11, generation |-> (-1), leader |-> "", assignment |-> {}]

first(those_12) ==
  FoldSeq(LAMBDA found_13, id_14 : (IF (/\ (found_13 = "") /\ (id_14 \in those_12)) THEN id_14 ELSE found_13), "", IDS)

holderOf(g_15, instance_16) ==
  first({id_17 \in (DOMAIN (g_15.members)) : ((((g_15.members)[id_17]).instance) = instance_16)})

quiet(g_18) ==
  [group |-> g_18, answers |-> [x \in {} |-> 0]]

only(m_19, keep_20) ==
  [k_21 \in ((DOMAIN m_19) \intersect keep_20) |-> (m_19[k_21])]

\* Members are dropped; if the leader is, another leads (CG.remove).
without(g_22, gone_23) ==
  LET members_24 ==
      only((g_22.members), ((DOMAIN (g_22.members)) \ gone_23))
  IN
    [[[g_22 EXCEPT !.members = members_24] EXCEPT !.pending = ((g_22.pending) \ gone_23)] EXCEPT !.leader = (IF ((g_22.leader) \in gone_23) THEN first((DOMAIN members_24)) ELSE g_22.leader)]

\* The record of the generation as it is now (GMM, newGroupMetadataRecord).
recording(g_25) ==
  [g_25 EXCEPT !.recorded = [generation |-> (g_25.generation), leader |-> (g_25.leader), members |-> [id_26 \in (DOMAIN (g_25.members)) |-> [[[[((g_25.members)[id_26]) EXCEPT !.joined = FALSE] EXCEPT !.syncing = FALSE] EXCEPT !.owes = FALSE] EXCEPT !.isNew = FALSE]]]]

joinAnswer(g_27) ==
  [error |-> "", generation |-> (g_27.generation), leader |-> (g_27.leader), assignment |-> {}]

\* CSA: Phase 1 ends. Dynamic members that did not join are dropped, static ones stay (KIP-345); a member that joined
\* leads; the generation is counted. If only absent static members are left the phase goes on
\* (GMM.completeClassicGroupJoin, CG.maybeElectNewJoinedLeader, CG.initNextGeneration).
endJoinPhase(g_28) ==
  LET late_29 ==
      {id_30 \in (DOMAIN (g_28.members)) : (/\ (~(((g_28.members)[id_30]).joined)) /\ ((((g_28.members)[id_30]).instance) = ""))}
  IN
    LET left_31 ==
        without(g_28, late_29)
    IN
      LET here_32 ==
          {id_33 \in (DOMAIN (left_31.members)) : (((left_31.members)[id_33]).joined)}
      IN
        IF ((DOMAIN (left_31.members)) = {})
        THEN
          quiet(recording([[[[left_31 EXCEPT !.phase = "EMPTY"] EXCEPT !.initial = FALSE] EXCEPT !.generation = ((g_28.generation) + 1)] EXCEPT !.leader = ""]))
        ELSE
          IF (here_32 = {})
          THEN
            quiet(left_31)
          ELSE
            LET leader_34 ==
                IF ((left_31.leader) \in here_32)
                THEN
                  left_31.leader
                ELSE
                  first(here_32)
            IN
              LET started_35 ==
                  [[[[[left_31 EXCEPT !.phase = "COMPLETING"] EXCEPT !.initial = FALSE] EXCEPT !.generation = ((g_28.generation) + 1)] EXCEPT !.leader = leader_34] EXCEPT !.members = [id_36 \in (DOMAIN (left_31.members)) |-> [[[[((left_31.members)[id_36]) EXCEPT !.joined = FALSE] EXCEPT !.syncing = FALSE] EXCEPT !.owes = TRUE] EXCEPT !.isNew = FALSE]]]
              IN
                [group |-> started_35, answers |-> [any_37 \in here_32 |-> joinAnswer(started_35)]]

\* When a session ends Kafka does not ask whether the join phase is an initial one.
endIfAllJoined(g_38) ==
  IF (/\ (/\ ((g_38.phase) = "PREPARING") /\ ((g_38.pending) = {})) /\ (\A id_39 \in (DOMAIN (g_38.members)) : (((g_38.members)[id_39]).joined)))
  THEN
    endJoinPhase(g_38)
  ELSE
    quiet(g_38)

\* The join phase ends as soon as everybody that is expected has joined; an initial one lasts (GMM.maybeCompleteJoinPhase).
maybeEndJoinPhase(g_40) ==
  IF (g_40.initial)
  THEN
    quiet(g_40)
  ELSE
    endIfAllJoined(g_40)

joined(m_41, n_42) ==
  [k_43 \in ((DOMAIN m_41) \union (DOMAIN n_42)) |-> (IF (k_43 \in (DOMAIN m_41)) THEN m_41[k_43] ELSE n_42[k_43])]

also(o_44, answers_45) ==
  [o_44 EXCEPT !.answers = joined((o_44.answers), answers_45)]

\* A rebalance begins (GMM.prepareRebalance). A sync phase that it interrupts is void: who waits is told to join again.
rebalance(g_46) ==
  LET isVoid_47 ==
      (g_46.phase) = "COMPLETING"
  IN
    LET told_48 ==
        IF isVoid_47
        THEN
          {id_49 \in (DOMAIN (g_46.members)) : (((g_46.members)[id_49]).syncing)}
        ELSE
          {}
    IN
      LET members_50 ==
          [id_51 \in (DOMAIN (g_46.members)) |-> (IF isVoid_47 THEN [[((g_46.members)[id_51]) EXCEPT !.syncing = FALSE] EXCEPT !.assignment = {}] ELSE (g_46.members)[id_51])]
      IN
        LET begun_52 ==
            [[[g_46 EXCEPT !.phase = "PREPARING"] EXCEPT !.initial = ((g_46.phase) = "EMPTY")] EXCEPT !.members = members_50]
        IN
          also(maybeEndJoinPhase(begun_52), [any_53 \in told_48 |-> error("REBALANCE_IN_PROGRESS")])

\* GMM.maybePrepareRebalanceOrCompleteJoin.
rebalanceOrEnd(g_54) ==
  IF ((g_54.phase) = "PREPARING")
  THEN
    maybeEndJoinPhase(g_54)
  ELSE
    rebalance(g_54)

added(g_55, id_56, r_57) ==
  rebalanceOrEnd([[[g_55 EXCEPT !.pending = ((g_55.pending) \ {id_56})] EXCEPT !.leader = (IF ((DOMAIN (g_55.members)) = {}) THEN id_56 ELSE g_55.leader)] EXCEPT !.members = Put((g_55.members), id_56, [instance |-> (r_57.instance), metadata |-> (r_57.metadata), joined |-> TRUE, syncing |-> FALSE, owes |-> FALSE, isNew |-> TRUE, assignment |-> {}])])

\* KIP-345: a static member that comes back without its id gets a new one; whoever waits under the old one is fenced. In a
\* stable group nothing moves; in the sync phase the leader may be assigning to the old id, so everybody joins again
\* (GMM.updateStaticMemberThenRebalanceOrCompleteJoin, CG.replaceStaticMember).
returns(g_58, old_59, r_60) ==
  LET m_61 ==
      (g_58.members)[old_59]
  IN
    LET waited_62 ==
        \/ (m_61.joined)
        \/ (m_61.syncing)
    IN
      LET moved_63 ==
          [[g_58 EXCEPT !.leader = (IF ((g_58.leader) = old_59) THEN r_60.fresh ELSE g_58.leader)] EXCEPT !.members = Put(only((g_58.members), ((DOMAIN (g_58.members)) \ {old_59})), (r_60.fresh), [[[[m_61 EXCEPT !.metadata = (r_60.metadata)] EXCEPT !.joined = ((g_58.phase) /= "STABLE")] EXCEPT !.syncing = FALSE] EXCEPT !.isNew = FALSE])]
      IN
        LET outcome_64 ==
            IF ((g_58.phase) = "STABLE")
            THEN
              [group |-> recording(moved_63), answers |-> (((r_60.fresh) :> joinAnswer(moved_63)))]
            ELSE
              IF ((g_58.phase) = "COMPLETING")
              THEN
                rebalance(moved_63)
              ELSE
                maybeEndJoinPhase(moved_63)
        IN
          IF waited_62
          THEN
            also(outcome_64, ((old_59 :> error("FENCED_INSTANCE_ID"))))
          ELSE
            outcome_64

\* CG.validateMember: an instance id must come with the member id that holds it.
memberError(g_65, id_66, instance_67) ==
  IF (/\ (instance_67 /= "") /\ (holderOf(g_65, instance_67) = ""))
  THEN
    "UNKNOWN_MEMBER_ID"
  ELSE
    IF (/\ (instance_67 /= "") /\ (holderOf(g_65, instance_67) /= id_66))
    THEN
      "FENCED_INSTANCE_ID"
    ELSE
      IF (~(id_66 \in (DOMAIN (g_65.members))))
      THEN
        "UNKNOWN_MEMBER_ID"
      ELSE
        ""

refused(g_68, id_69, text_70) ==
  [group |-> g_68, answers |-> ((id_69 :> error(text_70)))]

waits(g_71, id_72, metadata_73) ==
  [g_71 EXCEPT !.members = Put((g_71.members), id_72, [[((g_71.members)[id_72]) EXCEPT !.joined = TRUE] EXCEPT !.metadata = metadata_73])]

\* `fresh` is the id that a member without one is given. Kafka's errors in Kafka's order (GMM.classicGroupJoin…Member).
join(g_74, r_75) ==
  IF ((r_75.member) = "")
  THEN
    IF ((r_75.instance) = "")
    THEN
      [group |-> [g_74 EXCEPT !.pending = ((g_74.pending) \union {(r_75.fresh)})], answers |-> (((r_75.fresh) :> error("MEMBER_ID_REQUIRED")))]
    ELSE
      IF (holderOf(g_74, (r_75.instance)) = "")
      THEN
        added(g_74, (r_75.fresh), r_75)
      ELSE
        returns(g_74, holderOf(g_74, (r_75.instance)), r_75)
  ELSE
    IF (/\ ((r_75.member) \in (g_74.pending)) /\ ((r_75.instance) = ""))
    THEN
      added(g_74, (r_75.member), r_75)
    ELSE
      IF (memberError(g_74, (r_75.member), (r_75.instance)) /= "")
      THEN
        refused(g_74, (r_75.member), memberError(g_74, (r_75.member), (r_75.instance)))
      ELSE
        LET same_76 ==
            (((g_74.members)[(r_75.member)]).metadata) = (r_75.metadata)
        IN
          LET counts_77 ==
              \/ (\/ ((g_74.phase) = "PREPARING")
                  \/ (~same_76))
              \/ (/\ ((g_74.phase) = "STABLE")
                  /\ ((g_74.leader) = (r_75.member)))
          IN
            IF counts_77
            THEN
              rebalanceOrEnd(waits(g_74, (r_75.member), (r_75.metadata)))
            ELSE
              [group |-> g_74, answers |-> (((r_75.member) :> joinAnswer(g_74)))]

\* CSA: Joining; KIP-394; KIP-345. A process without an id. Its id here is the one it will be given.
comes ==
  \E id_78 \in {i_79 \in ids : (/\ (((clients[i_79]).place) = "OUT") /\ (~(i_79 \in (DOMAIN (group.members)))))} :
    \E metadata_80 \in {0, 1} :
      LET r_81 ==
          [member |-> "", instance |-> instanceOf(id_78), metadata |-> metadata_80, fresh |-> id_78]
      IN
        happens(JoinGroup(r_81), join(group, r_81), Put(clients, id_78, [[outside EXCEPT !.place = "JOINING"] EXCEPT !.metadata = metadata_80]))

\* CSA: Joining. A member that has an id.
rejoins ==
  \E id_82 \in {i_83 \in ids : (((clients[i_83]).place) \in {"PENDING", "REJOIN", "IN"})} :
    \E metadata_84 \in {0, 1} :
      LET r_85 ==
          [member |-> id_82, instance |-> instanceOf(id_82), metadata |-> metadata_84, fresh |-> id_82]
      IN
        happens(JoinGroup(r_85), join(group, r_85), Put(clients, id_82, [[[(clients[id_82]) EXCEPT !.place = "JOINING"] EXCEPT !.metadata = metadata_84] EXCEPT !.owned = {}]))

PARTITIONS ==
  {0}

SyncGroup(SyncGroupParam_86) ==
  [tag |-> "SyncGroup", of_SyncGroup |-> SyncGroupParam_86]

syncAnswer(m_87) ==
  [error |-> "", generation |-> (-1), leader |-> "", assignment |-> (m_87.assignment)]

\* CSA: Phase 2. The leader's request carries the assignment: it is recorded and everybody that waits is answered
\* (GMM.classicGroupSyncToClassicGroup).
sync(g_88, id_89, instance_90, generation_91, assignment_92) ==
  IF (memberError(g_88, id_89, instance_90) /= "")
  THEN
    refused(g_88, id_89, memberError(g_88, id_89, instance_90))
  ELSE
    IF (generation_91 /= (g_88.generation))
    THEN
      refused(g_88, id_89, "ILLEGAL_GENERATION")
    ELSE
      IF ((g_88.phase) = "PREPARING")
      THEN
        refused(g_88, id_89, "REBALANCE_IN_PROGRESS")
      ELSE
        LET m_93 ==
            [((g_88.members)[id_89]) EXCEPT !.owes = FALSE]
        IN
          LET seen_94 ==
              [g_88 EXCEPT !.members = Put((g_88.members), id_89, m_93)]
          IN
            IF ((g_88.phase) = "STABLE")
            THEN
              [group |-> seen_94, answers |-> ((id_89 :> syncAnswer(m_93)))]
            ELSE
              LET parked_95 ==
                  [seen_94 EXCEPT !.members = Put((seen_94.members), id_89, [m_93 EXCEPT !.syncing = TRUE])]
              IN
                IF ((g_88.leader) /= id_89)
                THEN
                  quiet(parked_95)
                ELSE
                  LET told_96 ==
                      {i_97 \in (DOMAIN (parked_95.members)) : (((parked_95.members)[i_97]).syncing)}
                  IN
                    LET done_98 ==
                        [[parked_95 EXCEPT !.phase = "STABLE"] EXCEPT !.members = [i_99 \in (DOMAIN (parked_95.members)) |-> [[((parked_95.members)[i_99]) EXCEPT !.syncing = FALSE] EXCEPT !.assignment = (IF (i_99 \in (DOMAIN assignment_92)) THEN assignment_92[i_99] ELSE {})]]]
                    IN
                      [group |-> recording(done_98), answers |-> [i_100 \in told_96 |-> syncAnswer(((done_98.members)[i_100]))]]

\* CSA: Phase 2. The leader assigns each partition to one member.
syncs ==
  \E id_101 \in {i_102 \in ids : (((clients[i_102]).place) = "JOINED")} :
    \E owners_103 \in [PARTITIONS -> ids] :
      LET assignment_104 ==
          [i_105 \in ids |-> {p_106 \in PARTITIONS : ((owners_103[p_106]) = i_105)}]
      IN
        happens(SyncGroup([member |-> id_101, generation |-> ((clients[id_101]).generation), assignment |-> assignment_104]), sync(group, id_101, instanceOf(id_101), ((clients[id_101]).generation), assignment_104), Put(clients, id_101, [(clients[id_101]) EXCEPT !.place = "SYNCING"]))

Heartbeat(HeartbeatParam_107) ==
  [tag |-> "Heartbeat", of_Heartbeat |-> HeartbeatParam_107]

\* CSA: Heartbeat. In the sync phase Kafka answers without an error; the proposal has REBALANCE_IN_PROGRESS.
heartbeatError(g_108, id_109, instance_110, generation_111) ==
  IF (memberError(g_108, id_109, instance_110) /= "")
  THEN
    memberError(g_108, id_109, instance_110)
  ELSE
    IF (generation_111 /= (g_108.generation))
    THEN
      "ILLEGAL_GENERATION"
    ELSE
      IF ((g_108.phase) = "PREPARING")
      THEN
        "REBALANCE_IN_PROGRESS"
      ELSE
        ""

\* CSA: Heartbeat.
beats ==
  \E id_112 \in {i_113 \in ids : (((clients[i_113]).place) = "IN")} :
    happens(Heartbeat([member |-> id_112, generation |-> ((clients[id_112]).generation)]), refused(group, id_112, heartbeatError(group, id_112, instanceOf(id_112), ((clients[id_112]).generation))), clients)

\* CG.validateOffsetCommit.
commitError(g_114, id_115, instance_116, generation_117) ==
  IF (memberError(g_114, id_115, instance_116) /= "")
  THEN
    memberError(g_114, id_115, instance_116)
  ELSE
    IF (generation_117 /= (g_114.generation))
    THEN
      "ILLEGAL_GENERATION"
    ELSE
      IF ((g_114.phase) = "COMPLETING")
      THEN
        "REBALANCE_IN_PROGRESS"
      ELSE
        ""

OffsetCommit(OffsetCommitParam_118) ==
  [tag |-> "OffsetCommit", of_OffsetCommit |-> OffsetCommitParam_118]

\* CG.validateOffsetCommit; CSA: Heartbeat. A commit or a late heartbeat of any process; whatever it hears, it goes on as it was.
commits ==
  \E id_119 \in ids :
    \E generation_120 \in {((clients[id_119]).generation), (group.generation), ((group.generation) - 1)} :
      \E alive_121 \in {TRUE, FALSE} :
        LET told_122 ==
            IF alive_121
            THEN
              heartbeatError(group, id_119, instanceOf(id_119), generation_120)
            ELSE
              commitError(group, id_119, instanceOf(id_119), generation_120)
        IN
          /\ (generation_120 >= 0)
          /\ ((group.recorded) /= nobody)
          /\ (group' =
                group)
          /\ (clients' =
                clients)
          /\ (event' =
                IF alive_121
                THEN
                  Heartbeat([member |-> id_119, generation |-> generation_120])
                ELSE
                  OffsetCommit([member |-> id_119, generation |-> generation_120]))
          /\ (answers' =
                (id_119 :> error(told_122)))
          /\ (before' =
                group)

LeaveGroup(LeaveGroupParam_123) ==
  [tag |-> "LeaveGroup", of_LeaveGroup |-> LeaveGroupParam_123]

\* Members go at once; who waits under their ids is told (GMM.removeMemberAndUpdateClassicGroup).
gone(g_124, id_125, expired_126) ==
  LET waited_127 ==
      \/ (((g_124.members)[id_125]).joined)
      \/ (((g_124.members)[id_125]).syncing)
  IN
    LET left_128 ==
        without(g_124, {id_125})
    IN
      LET outcome_129 ==
          IF (/\ (expired_126) /\ ((left_128.phase) = "PREPARING"))
          THEN
            endIfAllJoined(left_128)
          ELSE
            rebalanceOrEnd(left_128)
      IN
        IF waited_127
        THEN
          also(outcome_129, ((id_125 :> error("UNKNOWN_MEMBER_ID"))))
        ELSE
          outcome_129

\* One that has not joined yet leaves as well, and this too means a rebalance (GMM.classicGroupLeaveToClassicGroup).
leave(g_130, id_131, instance_132) ==
  IF (id_131 \in (g_130.pending))
  THEN
    IF ((g_130.phase) = "EMPTY")
    THEN
      quiet(without(g_130, {id_131}))
    ELSE
      rebalanceOrEnd(without(g_130, {id_131}))
  ELSE
    IF (memberError(g_130, id_131, instance_132) /= "")
    THEN
      refused(g_130, id_131, memberError(g_130, id_131, instance_132))
    ELSE
      gone(g_130, id_131, FALSE)

\* GMM.classicGroupLeave; KIP-345: LeaveGroup.
leaves ==
  \E id_133 \in {i_134 \in ids : (((clients[i_134]).place) /= "OUT")} :
    happens(LeaveGroup(id_133), leave(group, id_133, instanceOf(id_133)), Put(clients, id_133, outside))

ClientActs ==
  [tag |-> "ClientActs"]

\* CSA: Member Failure. The process dies; with an instance id it will be back under another member id.
crashes ==
  \E id_135 \in {i_136 \in ids : (((clients[i_136]).place) /= "OUT")} :
    happens(ClientActs, quiet(group), Put(clients, id_135, outside))

SessionEnds(SessionEndsParam_137) ==
  [tag |-> "SessionEnds", of_SessionEnds |-> SessionEndsParam_137]

\* CSA: Member Failure. A member that waits cannot send heartbeats, and so is not expected to, unless it is new
\* (GMM.expireClassicGroupMemberHeartbeat, ClassicGroupMember.hasSatisfiedHeartbeat).
sessionEnds(g_138, id_139) ==
  IF (id_139 \in (g_138.pending))
  THEN
    endIfAllJoined(without(g_138, {id_139}))
  ELSE
    LET m_140 ==
        (g_138.members)[id_139]
    IN
      IF (/\ (\/ (m_140.joined) \/ (m_140.syncing)) /\ (~(m_140.isNew)))
      THEN
        quiet(g_138)
      ELSE
        gone(g_138, id_139, TRUE)

\* CSA: Member Failure: the session timeout.
sessionExpires ==
  \E id_141 \in ((DOMAIN (group.members)) \union (group.pending)) :
    happens(SessionEnds(id_141), sessionEnds(group, id_141), clients)

JoinTimeEnds ==
  [tag |-> "JoinTimeEnds"]

\* CSA: Phase 1: the rebalance timeout.
joinTimeExpires ==
  /\ ((group.phase) = "PREPARING")
  /\ (happens(JoinTimeEnds, endJoinPhase(group), clients))

SyncTimeEnds ==
  [tag |-> "SyncTimeEnds"]

\* The rebalance timeout of the sync phase: who has not sent SyncGroup is dropped, static or not (GMM.expirePendingSync).
syncTimeEnds(g_142) ==
  rebalance(without(g_142, {id_143 \in (DOMAIN (g_142.members)) : (((g_142.members)[id_143]).owes)}))

\* GMM.expirePendingSync.
syncTimeExpires ==
  /\ (\/ ((group.phase) = "COMPLETING")
      \/ ((group.phase) = "STABLE"))
  /\ (\E id_144 \in (DOMAIN (group.members)) : (((group.members)[id_144]).owes))
  /\ (happens(SyncTimeEnds, syncTimeEnds(group), clients))

FailOver ==
  [tag |-> "FailOver"]

\* CSA: Coordinator Failure: what is in no record is lost.
loaded(g_145) ==
  [[[[[emptyGroup EXCEPT !.recorded = (g_145.recorded)] EXCEPT !.generation = ((g_145.recorded).generation)] EXCEPT !.leader = ((g_145.recorded).leader)] EXCEPT !.members = ((g_145.recorded).members)] EXCEPT !.phase = (IF (((g_145.recorded).members) = [x \in {} |-> 0]) THEN "EMPTY" ELSE "STABLE")]

\* CSA: Coordinator Failure.
failsOver ==
  happens(FailOver, quiet(loaded(group)), [id_146 \in (DOMAIN clients) |-> (IF (((clients[id_146]).place) \in {"JOINING", "SYNCING"}) THEN [[(clients[id_146]) EXCEPT !.place = "REJOIN"] EXCEPT !.owned = {}] ELSE clients[id_146])])

step ==
  \/ (comes)
  \/ (comes)
  \/ (rejoins)
  \/ (rejoins)
  \/ (syncs)
  \/ (syncs)
  \/ (syncs)
  \/ (beats)
  \/ (beats)
  \/ (commits)
  \/ (leaves)
  \/ (crashes)
  \/ (sessionExpires)
  \/ (joinTimeExpires)
  \/ (joinTimeExpires)
  \/ (syncTimeExpires)
  \/ (failsOver)

q_step ==
  step

\* Of all processes that use a partition, zombies included, one at most may commit for it.
oneMayCommit ==
  \A a_147 \in ids : (\A b_148 \in ids : (\/ (\/ (\/ (a_147 = b_148) \/ ((((clients[a_147]).owned) \intersect ((clients[b_148]).owned)) = {})) \/ (commitError(group, a_147, instanceOf(a_147), ((clients[a_147]).generation)) /= "")) \/ (commitError(group, b_148, instanceOf(b_148), ((clients[b_148]).generation)) /= "")))

\* A commit is accepted of members alone, in the generation that goes on, and not while its assignment is awaited.
commitsAreCurrent ==
  LET matched_149 == event IN
  CASE matched_149.tag = "OffsetCommit" ->
      LET e_150 == matched_149.of_OffsetCommit IN
      \/ (((answers[(e_150.member)]).error) /= "")
      \/ (/\ ((e_150.member) \in (DOMAIN (group.members)))
          /\ ((e_150.generation) = (group.generation))
          /\ ((group.phase) /= "COMPLETING"))
  [] OTHER ->
      TRUE

\* Generations never fall, but for a fail-over: those that were never recorded are counted again.
generationsGrow ==
  \/ ((group.generation) >= (before.generation))
  \/ (group = loaded(before))

recordedGenerationsGrow ==
  ((group.recorded).generation) >= ((before.recorded).generation)

leaderIsMember ==
  IF ((group.members) = [x \in {} |-> 0])
  THEN
    (group.leader) = ""
  ELSE
    (group.leader) \in (DOMAIN (group.members))

noMemberWaitsInVain ==
  \A id_152 \in (DOMAIN (group.members)) : (/\ ((((group.members)[id_152]).joined) => ((group.phase) = "PREPARING")) /\ ((((group.members)[id_152]).syncing) => ((group.phase) = "COMPLETING")))

emptyMeansEmpty ==
  ((group.phase) = "EMPTY") => ((group.members) = [x \in {} |-> 0])

\* A stable group is the one that was recorded.
stableIsRecorded ==
  ((group.phase) = "STABLE") => (/\ (((group.recorded).generation) = (group.generation)) /\ (((group.recorded).leader) = (group.leader)) /\ ((DOMAIN ((group.recorded).members)) = (DOMAIN (group.members))) /\ (\A id_153 \in (DOMAIN (group.members)) : (((((group.recorded).members)[id_153]).assignment) = (((group.members)[id_153]).assignment))))

\* No partition has two owners in a stable group. Whether each has one is the leader's doing, and departures void it.
nothingIsShared ==
  ((group.phase) = "STABLE") => (\A p_154 \in PARTITIONS : (Cardinality({id_155 \in (DOMAIN (group.members)) : (p_154 \in (((group.members)[id_155]).assignment))}) <= 1))

\* KIP-345: a static member that is back in time, in a stable group, moves nothing.
returnMovesNothing ==
  LET news_156 ==
      (DOMAIN (group.members)) \ (DOMAIN (before.members))
  IN
    LET back_157 ==
        {id_158 \in news_156 : (/\ (/\ ((before.phase) = "STABLE") /\ (holderOf(before, instanceOf(id_158)) /= "")) /\ (instanceOf(id_158) /= ""))}
    IN
      \A id_159 \in back_157 : (/\ ((group.phase) = "STABLE") /\ ((group.generation) = (before.generation)) /\ ((((group.members)[id_159]).assignment) = (((before.members)[holderOf(before, instanceOf(id_159))]).assignment)) /\ (\A i_160 \in ((DOMAIN (before.members)) \ {holderOf(before, instanceOf(id_159))}) : (/\ (i_160 \in (DOMAIN (group.members))) /\ (((group.members)[i_160]) = ((before.members)[i_160])))))

safe ==
  /\ (oneMayCommit)
  /\ (commitsAreCurrent)
  /\ (generationsGrow)
  /\ (recordedGenerationsGrow)
  /\ (leaderIsMember)
  /\ (noMemberWaitsInVain)
  /\ (emptyMeansEmpty)
  /\ (stableIsRecorded)
  /\ (nothingIsShared)
  /\ (returnMovesNothing)

given(s_161, o_162, now_163) ==
  [group |-> (o_162.group), clients |-> [id_164 \in ids |-> (IF (id_164 \in (DOMAIN (o_162.answers))) THEN heard((now_163[id_164]), ((o_162.answers)[id_164])) ELSE now_163[id_164])]]

\* Without faults: each process does what its place asks for; who has no process ends.
quietTurn(s_165, id_166) ==
  LET c_167 ==
      (s_165.clients)[id_166]
  IN
    LET g_168 ==
        s_165.group
    IN
      LET known_169 ==
          \/ (id_166 \in (DOMAIN (g_168.members)))
          \/ (id_166 \in (g_168.pending))
      IN
        IF ((c_167.place) = "OUT")
        THEN
          IF known_169
          THEN
            given(s_165, sessionEnds([g_168 EXCEPT !.members = (IF (id_166 \in (DOMAIN (g_168.members))) THEN Put((g_168.members), id_166, [[((g_168.members)[id_166]) EXCEPT !.joined = FALSE] EXCEPT !.syncing = FALSE]) ELSE g_168.members)], id_166), (s_165.clients))
          ELSE
            s_165
        ELSE
          IF (\/ ((c_167.place) = "PENDING") \/ ((c_167.place) = "REJOIN"))
          THEN
            given(s_165, join(g_168, [member |-> id_166, instance |-> instanceOf(id_166), metadata |-> (c_167.metadata), fresh |-> id_166]), Put((s_165.clients), id_166, [[c_167 EXCEPT !.place = "JOINING"] EXCEPT !.owned = {}]))
          ELSE
            IF ((c_167.place) = "JOINED")
            THEN
              given(s_165, sync(g_168, id_166, instanceOf(id_166), (c_167.generation), ((id_166 :> PARTITIONS))), Put((s_165.clients), id_166, [c_167 EXCEPT !.place = "SYNCING"]))
            ELSE
              IF ((c_167.place) = "IN")
              THEN
                LET told_170 ==
                    heartbeatError(g_168, id_166, instanceOf(id_166), (c_167.generation))
                IN
                  IF (told_170 = "")
                  THEN
                    s_165
                  ELSE
                    given(s_165, refused(g_168, id_166, told_170), (s_165.clients))
              ELSE
                IF (\/ (\/ (~known_169) \/ (/\ ((c_167.place) = "JOINING") /\ (~(((g_168.members)[id_166]).joined)))) \/ (/\ ((c_167.place) = "SYNCING") /\ (~(((g_168.members)[id_166]).syncing))))
                THEN
                  [s_165 EXCEPT !.clients = Put((s_165.clients), id_166, [[c_167 EXCEPT !.place = "REJOIN"] EXCEPT !.owned = {}])]
                ELSE
                  s_165

\* A round: every process has its turn, then the join phase's time is up.
quietRounds(s_171, rounds_172) ==
  FoldSeq(LAMBDA now_173, any_174 : (LET turned_175 == FoldSeq(LAMBDA each_176, id_177 : quietTurn(each_176, id_177), now_173, IDS) IN IF (((turned_175.group).phase) = "PREPARING") THEN given(turned_175, endJoinPhase((turned_175.group)), (turned_175.clients)) ELSE turned_175), s_171, RangeOf(0, rounds_172))

ROUNDS ==
  8

\* From here, without further faults, the group is stable or empty within some rounds.
converges ==
  LET after_178 ==
      quietRounds([group |-> group, clients |-> clients], ROUNDS).group
  IN
    \/ ((after_178.phase) = "STABLE")
    \/ ((after_178.phase) = "EMPTY")

q_inv ==
  /\ (/\ (safe)
      /\ (converges))

View == <<group, clients>>
Spec == q_init /\ [][q_step]_<<group, clients, event, answers, before>>
\* After each step, also one that leads to a state that is known already.
Always == [][q_inv']_<<group, clients, event, answers, before>>
====
