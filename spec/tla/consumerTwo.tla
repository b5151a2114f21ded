---- MODULE consumerTwo ----
\* Translated from Quint by `python -m workshop.tlaplus --write`; spec/*.qnt has the sources.
EXTENDS Integers, Sequences, FiniteSets, TLC

VARIABLES release, image, group, clients, event, answer, before

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

RELEASES ==
  {"4.1", "4.4"}

COUNTS ==
  {2}

TOPICS ==
  <<"foo">>

emptyGroup(rules_1) ==
  [exists |-> FALSE, epoch |-> (rules_1.firstEpoch), assignmentEpoch |-> (rules_1.firstEpoch), timed |-> FALSE, metadata |-> [x \in {} |-> 0], members |-> [x \in {} |-> 0], target |-> [x \in {} |-> 0], revoking |-> [x \in {} |-> 0]]

R44 ==
  [firstEpoch |-> 1, stepsWhileRevoking |-> FALSE, ownPendingIsFree |-> TRUE, rejoinsAtZero |-> TRUE, followsSubscription |-> TRUE, assignmentEpochs |-> TRUE, waitsForInterval |-> TRUE, joinsWithoutTopics |-> TRUE, newGroupBumps |-> FALSE, emptiedHasTarget |-> TRUE, assignorBumps |-> TRUE]

R43 ==
  [[R44 EXCEPT !.emptiedHasTarget = FALSE] EXCEPT !.assignorBumps = FALSE]

R42 ==
  [[[[R43 EXCEPT !.firstEpoch = 0] EXCEPT !.assignmentEpochs = FALSE] EXCEPT !.waitsForInterval = FALSE] EXCEPT !.newGroupBumps = TRUE]

R41 ==
  [[[R42 EXCEPT !.stepsWhileRevoking = TRUE] EXCEPT !.rejoinsAtZero = FALSE] EXCEPT !.followsSubscription = FALSE]

R40 ==
  [R41 EXCEPT !.ownPendingIsFree = FALSE]

R39 ==
  [[R40 EXCEPT !.newGroupBumps = FALSE] EXCEPT !.joinsWithoutTopics = FALSE]

RULES ==
  ("3.9" :> R39) @@ ("4.0" :> R40) @@ ("4.1" :> R41) @@ ("4.2" :> R42) @@ ("4.3" :> R43) @@ ("4.4" :> R44)

IDS ==
  <<"a", "b">>

ids ==
  {(IDS[i_2 + 1]) : i_2 \in IndicesOf(IDS)}

outside ==
  [epoch |-> 0, topics |-> {}, owned |-> {}, assigned |-> {}, unsure |-> FALSE]

Start ==
  [tag |-> "Start"]

None ==
  [tag |-> "None"]

nothing ==
  [error |-> "", epoch |-> 0, assigned |-> None]

init ==
  \E broker_3 \in RELEASES :
    \E count_4 \in COUNTS :
      /\ (release =
            broker_3)
      /\ (image =
            [name_5 \in {(TOPICS[i_9 + 1]) : i_9 \in IndicesOf(TOPICS)} |-> [id |-> FoldSet(LAMBDA a_6, i_7 : (a_6 + i_7), 0, {i_8 \in IndicesOf(TOPICS) : ((TOPICS[i_8 + 1]) = name_5)}), count |-> count_4, racks |-> 0]])
      /\ (group =
            emptyGroup((RULES[broker_3])))
      /\ (clients =
            [any_10 \in ids |-> outside])
      /\ (event =
            Start)
      /\ (answer =
            nothing)
      /\ (before =
            emptyGroup((RULES[broker_3])))

q_init ==
  init

\* The member with this instance id; "" if there is none.
holderOf(g_11, instance_12) ==
  FoldSet(LAMBDA found_13, id_14 : (IF ((((g_11.members)[id_14]).instance) = instance_12) THEN id_14 ELSE found_13), "", (DOMAIN (g_11.members)))

only(m_15, keep_16) ==
  [k_17 \in ((DOMAIN m_15) \intersect keep_16) |-> (m_15[k_17])]

without(m_18, key_19) ==
  only(m_18, ((DOMAIN m_18) \ {key_19}))

orElse(o_20, other_21) ==
  LET matched_22 == o_20 IN
  CASE matched_22.tag = "Some" ->
      LET x_23 == matched_22.of_Some IN
      x_23
  [] matched_22.tag = "None" ->
      other_21

newMember ==
  [instance |-> "", topics |-> {}, epoch |-> 0, previous |-> (-1), state |-> "STABLE", classic |-> FALSE, assigned |-> [x \in {} |-> 0], pending |-> [x \in {} |-> 0]]

\* The members after a heartbeat that is accepted, as its target sees them; their topics alone are right.
membersWith(g_25, r_26) ==
  LET holder_27 ==
      IF (\/ ((r_26.instance) = "") \/ ((r_26.epoch) /= 0))
      THEN
        ""
      ELSE
        holderOf(g_25, (r_26.instance))
  IN
    LET base_28 ==
        IF (holder_27 = "")
        THEN
          g_25.members
        ELSE
          without((g_25.members), holder_27)
    IN
      LET topics_29 ==
          orElse((r_26.topics), (IF (holder_27 /= "") THEN ((g_25.members)[holder_27]).topics ELSE IF ((r_26.member) \in (DOMAIN (g_25.members))) THEN ((g_25.members)[(r_26.member)]).topics ELSE {}))
      IN
        Put(base_28, (r_26.member), [newMember EXCEPT !.topics = topics_29])

partitionsOf(image_30, names_31) ==
  UNION {{<<((image_30[name_32]).id), n_33>> : n_33 \in (0 .. (((image_30[name_32]).count) - 1))} : name_32 \in (names_31 \intersect (DOMAIN image_30))}

subscribed(members_34) ==
  UNION {((members_34[id_35]).topics) : id_35 \in (DOMAIN members_34)}

rules ==
  RULES[release]

metadataOf(image_36, members_37) ==
  only(image_36, subscribed(members_37))

joined(m_38, n_39) ==
  [k_40 \in ((DOMAIN m_38) \union (DOMAIN n_39)) |-> (IF (k_40 \in (DOMAIN m_38)) THEN m_38[k_40] ELSE n_39[k_40])]

\* Whether the client may still use one of these; one that does not say may use them all (CAB.ownsRevokedPartitions).
ownsAny(owned_41, partitions_42) ==
  LET matched_43 == owned_41 IN
  CASE matched_43.tag = "Some" ->
      LET those_44 == matched_43.of_Some IN
      (those_44 \intersect partitions_42) /= {}
  [] matched_43.tag = "None" ->
      TRUE

moved(m_46, state_47, epoch_48, assigned_49, pending_50) ==
  [[[[[m_46 EXCEPT !.state = state_47] EXCEPT !.previous = (m_46.epoch)] EXCEPT !.epoch = epoch_48] EXCEPT !.assigned = assigned_49] EXCEPT !.pending = pending_50]

\* Not in the KIP: topics no longer subscribed to are given up before any new target says so (CAB.updateCurrentAssignment).
withoutUnsubscribed(m_51, a_52) ==
  LET kept_53 ==
      only((m_51.assigned), {p_54 \in (DOMAIN (m_51.assigned)) : ((p_54[1]) \in (a_52.topics))})
  IN
    LET dropped_55 ==
        only((m_51.assigned), ((DOMAIN (m_51.assigned)) \ (DOMAIN kept_53)))
    IN
      LET pending_56 ==
          joined((m_51.pending), dropped_55)
      IN
        LET stays_57 ==
            IF (/\ ((m_51.topics) = {}) /\ ((m_51.pending) = [x \in {} |-> 0]))
            THEN
              FALSE
            ELSE
              dropped_55 = [x \in {} |-> 0]
        IN
          IF stays_57
          THEN
            m_51
          ELSE
            IF (/\ (pending_56 /= [x \in {} |-> 0]) /\ (ownsAny((a_52.owned), (DOMAIN pending_56))))
            THEN
              moved(m_51, "UNREVOKED", (m_51.epoch), kept_53, pending_56)
            ELSE
              moved(m_51, (m_51.state), (m_51.epoch), kept_53, (m_51.pending))

\* Phases 1 to 3 of the KIP's reconciliation (CAB.computeNextAssignment). `waiting`: the epoch of a member that must revoke.
nextAssignment(rules_58, m_59, a_60, waiting_61) ==
  LET wanted_62 ==
      IF (rules_58.followsSubscription)
      THEN
        {p_63 \in (a_60.target) : ((p_63[1]) \in (a_60.topics))}
      ELSE
        a_60.target
  IN
    LET kept_64 ==
        only((m_59.assigned), wanted_62)
    IN
      LET revoked_65 ==
          only((m_59.assigned), ((DOMAIN (m_59.assigned)) \ wanted_62))
      IN
        LET own_66 ==
            IF (rules_58.ownPendingIsFree)
            THEN
              DOMAIN (m_59.pending)
            ELSE
              {}
        IN
          LET missing_67 ==
              wanted_62 \ (DOMAIN kept_64)
          IN
            LET added_68 ==
                missing_67 \ ((a_60.taken) \ own_66)
            IN
              LET stamp_69 ==
                  IF (rules_58.assignmentEpochs)
                  THEN
                    a_60.epoch
                  ELSE
                    0
              IN
                IF (/\ ((DOMAIN revoked_65) /= {}) /\ (ownsAny((a_60.owned), (DOMAIN revoked_65))))
                THEN
                  moved(m_59, "UNREVOKED", waiting_61, kept_64, revoked_65)
                ELSE
                  moved(m_59, (IF (added_68 = missing_67) THEN "STABLE" ELSE "UNRELEASED"), (a_60.epoch), joined(kept_64, [any_70 \in added_68 |-> stamp_69]), [x \in {} |-> 0])

\* One step of one member towards its target (CAB.build, GMM.maybeReconcile).
reconcile(rules_71, m_72, a_73) ==
  IF (/\ ((m_72.state) = "STABLE") /\ ((m_72.epoch) = (a_73.epoch)))
  THEN
    IF (a_73.subscriptionChanged)
    THEN
      withoutUnsubscribed(m_72, a_73)
    ELSE
      m_72
  ELSE
    IF ((m_72.state) = "UNREVOKED")
    THEN
      IF ownsAny((a_73.owned), (DOMAIN (m_72.pending)))
      THEN
        IF (a_73.subscriptionChanged)
        THEN
          withoutUnsubscribed(m_72, a_73)
        ELSE
          m_72
      ELSE
        nextAssignment(rules_71, m_72, a_73, (IF (rules_71.stepsWhileRevoking) THEN (m_72.epoch) + 1 ELSE m_72.epoch))
    ELSE
      nextAssignment(rules_71, m_72, a_73, (m_72.epoch))

targetOf(g_74, id_75) ==
  IF (id_75 \in (DOMAIN (g_74.target)))
  THEN
    (g_74.target)[id_75]
  ELSE
    {}

held(m_76) ==
  (DOMAIN (m_76.assigned)) \union (DOMAIN (m_76.pending))

topicIds(image_77, m_78) ==
  {((image_77[name_79]).id) : name_79 \in ((m_78.topics) \intersect (DOMAIN image_77))}

isNone(o_80) ==
  LET matched_81 == o_80 IN
  CASE matched_81.tag = "Some" ->
      FALSE
  [] matched_81.tag = "None" ->
      TRUE

Some(SomeParam_84) ==
  [tag |-> "Some", of_Some |-> SomeParam_84]

\* Steps 4 and 5 of KIP: Request Handling, for a member that was found, made or replaced; `was` = the member then.
served(rules_85, image_86, g_87, was_88, r_89, due_90, choice_91) ==
  LET updated_92 ==
      [[[was_88 EXCEPT !.classic = (r_89.classic)] EXCEPT !.instance = (IF ((r_89.instance) = "") THEN was_88.instance ELSE r_89.instance)] EXCEPT !.topics = orElse((r_89.topics), (was_88.topics))]
  IN
    LET changed_93 ==
        \/ ((updated_92.topics) /= (was_88.topics))
        \/ (r_89.renamed)
    IN
      LET metadata_94 ==
          metadataOf(image_86, Put((g_87.members), (r_89.member), updated_92))
      IN
        LET differs_95 ==
            /\ (~(r_89.unresolved))
            /\ (\/ (changed_93)
                \/ (metadata_94 /= (g_87.metadata)))
        IN
          LET bumps_96 ==
              \/ (\/ (differs_95)
                  \/ (/\ (rules_85.assignorBumps)
                      /\ (r_89.prefers)))
              \/ (/\ (rules_85.newGroupBumps)
                  /\ ((g_87.epoch) = 0))
          IN
            LET epoch_97 ==
                IF bumps_96
                THEN
                  (g_87.epoch) + 1
                ELSE
                  g_87.epoch
            IN
              LET computes_98 ==
                  /\ (epoch_97 > (g_87.assignmentEpoch))
                  /\ (due_90)
              IN
                LET target_99 ==
                    IF computes_98
                    THEN
                      choice_91
                    ELSE
                      g_87.target
                IN
                  LET assignmentEpoch_100 ==
                      IF computes_98
                      THEN
                        epoch_97
                      ELSE
                        g_87.assignmentEpoch
                  IN
                    LET after_101 ==
                        reconcile(rules_85, updated_92, [epoch |-> assignmentEpoch_100, target |-> targetOf([g_87 EXCEPT !.target = target_99], (r_89.member)), owned |-> (r_89.owned), taken |-> (UNION {held(((g_87.members)[id_102])) : id_102 \in (DOMAIN (g_87.members))}), topics |-> topicIds(image_86, updated_92), subscriptionChanged |-> (/\ (changed_93) /\ (rules_85.followsSubscription))])
                    IN
                      LET revoking_103 ==
                          IF (after_101 = updated_92)
                          THEN
                            g_87.revoking
                          ELSE
                            IF ((after_101.state) = "UNREVOKED")
                            THEN
                              Put((g_87.revoking), (r_89.member), (after_101.epoch))
                            ELSE
                              without((g_87.revoking), (r_89.member))
                      IN
                        LET isFull_104 ==
                            /\ (~isNone((r_89.topics)))
                            /\ (~isNone((r_89.owned)))
                        IN
                          LET tells_105 ==
                              \/ (\/ ((r_89.epoch) = 0)
                                  \/ (isFull_104))
                              \/ ((after_101.assigned) /= (was_88.assigned))
                          IN
                            [group |-> [exists |-> TRUE, epoch |-> epoch_97, assignmentEpoch |-> assignmentEpoch_100, timed |-> (IF computes_98 THEN rules_85.waitsForInterval ELSE g_87.timed), metadata |-> metadata_94, members |-> Put((g_87.members), (r_89.member), after_101), target |-> target_99, revoking |-> revoking_103], answer |-> [error |-> "", epoch |-> (after_101.epoch), assigned |-> (IF tells_105 THEN Some((DOMAIN (after_101.assigned))) ELSE None)]]

refused(g_106, error_107) ==
  [group |-> g_106, answer |-> [error |-> error_107, epoch |-> 0, assigned |-> None]]

\* KIP: Fencing. The previous epoch is accepted from who owns nothing beyond its assignment, since the answer may have
\* been lost (GMM.throwIfConsumerGroupMemberEpochIsInvalid; the KIP compares with the target instead).
acceptedEpoch(rules_108, m_109, r_110) ==
  \/ (r_110.classic)
  \/ ((r_110.epoch) = (m_109.epoch))
  \/ (/\ ((r_110.epoch) = 0)
      /\ (rules_108.rejoinsAtZero))
  \/ (/\ ((r_110.epoch) < (m_109.epoch))
      /\ ((r_110.epoch) = (m_109.previous))
      /\ (LET matched_111 == (r_110.owned) IN
          CASE matched_111.tag = "Some" ->
              LET those_112 == matched_111.of_Some IN
              those_112 \subseteq (DOMAIN (m_109.assigned))
          [] matched_111.tag = "None" ->
              FALSE))

\* KIP: Static Membership. The new member takes over assignment and target of the one that is away (GMM.replaceMember).
replaced(g_114, old_115, id_116) ==
  LET m_117 ==
      (g_114.members)[old_115]
  IN
    [[[g_114 EXCEPT !.members = Put(without((g_114.members), old_115), id_116, [[m_117 EXCEPT !.epoch = 0] EXCEPT !.previous = 0])] EXCEPT !.target = Put(without((g_114.target), old_115), id_116, targetOf(g_114, old_115))] EXCEPT !.revoking = without((g_114.revoking), old_115)]

\* KIP: Request Handling of ConsumerGroupHeartbeat, steps 1 to 3 (GMM.consumerGroupHeartbeat and
\* getOrMaybeSubscribe{Dynamic,Static}ConsumerGroupMember). Kafka fences by an error alone; the KIP also removes the member.
heartbeat(rules_118, image_119, g_120, r_121, due_122, choice_123) ==
  LET holder_124 ==
      IF ((r_121.instance) = "")
      THEN
        ""
      ELSE
        holderOf(g_120, (r_121.instance))
  IN
    LET known_125 ==
        IF ((r_121.member) \in (DOMAIN (g_120.members)))
        THEN
          (g_120.members)[(r_121.member)]
        ELSE
          newMember
    IN
      LET serve_126(here_127, was_128) ==
          served(rules_118, image_119, here_127, was_128, r_121, due_122, choice_123)
      IN
        IF (/\ (~(g_120.exists)) /\ ((r_121.epoch) /= 0))
        THEN
          refused(g_120, "GROUP_ID_NOT_FOUND")
        ELSE
          IF ((r_121.instance) = "")
          THEN
            IF (~((r_121.member) \in (DOMAIN (g_120.members))))
            THEN
              IF ((r_121.epoch) = 0)
              THEN
                serve_126(g_120, newMember)
              ELSE
                refused(g_120, "UNKNOWN_MEMBER_ID")
            ELSE
              IF acceptedEpoch(rules_118, known_125, r_121)
              THEN
                serve_126(g_120, known_125)
              ELSE
                refused(g_120, "FENCED_MEMBER_EPOCH")
          ELSE
            IF ((r_121.epoch) /= 0)
            THEN
              IF (holder_124 = "")
              THEN
                refused(g_120, "UNKNOWN_MEMBER_ID")
              ELSE
                IF (holder_124 /= (r_121.member))
                THEN
                  refused(g_120, "FENCED_INSTANCE_ID")
                ELSE
                  IF acceptedEpoch(rules_118, known_125, r_121)
                  THEN
                    serve_126(g_120, known_125)
                  ELSE
                    refused(g_120, "FENCED_MEMBER_EPOCH")
            ELSE
              IF (holder_124 = "")
              THEN
                serve_126(g_120, known_125)
              ELSE
                IF (/\ ((((g_120.members)[holder_124]).epoch) /= (-2)) /\ (~(\/ (r_121.classic) \/ (((g_120.members)[holder_124]).classic))))
                THEN
                  refused(g_120, "UNRELEASED_INSTANCE_ID")
                ELSE
                  LET taken_129 ==
                      replaced(g_120, holder_124, (r_121.member))
                  IN
                    serve_126(taken_129, ((taken_129.members)[(r_121.member)]))

\* A target that is legal: `choice` numbers, for each partition, one of the members that subscribe to its topic.
targetFor(topics_130, members_131, choice_132) ==
  LET owners_133 ==
      [p_134 \in (DOMAIN choice_132) |-> (LET candidates_135 == Select(IDS, LAMBDA id_136 : (/\ (id_136 \in (DOMAIN members_131)) /\ ((p_134[1]) \in topicIds(topics_130, (members_131[id_136]))))) IN candidates_135[((choice_132[p_134]) % Len(candidates_135)) + 1])]
  IN
    [id_137 \in (DOMAIN members_131) |-> {p_138 \in (DOMAIN choice_132) : ((owners_133[p_138]) = id_137)}]

EPOCH_MAX ==
  4

happens(what_139, outcome_140, now_141) ==
  /\ (((outcome_140.group).epoch) <= EPOCH_MAX)
  /\ (release' =
        release)
  /\ (image' =
        image)
  /\ (group' =
        outcome_140.group)
  /\ (clients' =
        now_141)
  /\ (event' =
        what_139)
  /\ (answer' =
        outcome_140.answer)
  /\ (before' =
        group)

Heartbeat(HeartbeatParam_142) ==
  [tag |-> "Heartbeat", of_Heartbeat |-> HeartbeatParam_142]

\* KIP: Response Handling. A client that is fenced gives everything up and joins again.
heard(c_143, a_144) ==
  IF ((a_144.error) = "")
  THEN
    [[[c_143 EXCEPT !.epoch = (a_144.epoch)] EXCEPT !.assigned = orElse((a_144.assigned), (c_143.assigned))] EXCEPT !.unsure = FALSE]
  ELSE
    IF ((a_144.error) = "UNRELEASED_INSTANCE_ID")
    THEN
      c_143
    ELSE
      outside

\* One heartbeat, with every legal target. `lost`: the client never hears the answer.
sends(r_145) ==
  LET members_146 ==
      membersWith(group, r_145)
  IN
    LET shared_147 ==
        partitionsOf(image, subscribed(members_146))
    IN
      \E lost_148 \in {FALSE, TRUE} :
        \E due_149 \in (IF (/\ (rules.waitsForInterval) /\ (group.timed)) THEN {TRUE, FALSE} ELSE {TRUE}) :
          LET computes_150 ==
              ((heartbeat(rules, image, group, r_145, due_149, [x \in {} |-> 0]).group).assignmentEpoch) > (group.assignmentEpoch)
          IN
            \E choice_151 \in [(IF computes_150 THEN shared_147 ELSE {}) -> (0 .. (Len(IDS) - 1))] :
              LET target_152 ==
                  IF computes_150
                  THEN
                    targetFor(image, members_146, choice_151)
                  ELSE
                    [x \in {} |-> 0]
              IN
                LET outcome_153 ==
                    heartbeat(rules, image, group, r_145, due_149, target_152)
                IN
                  LET sender_154 ==
                      [(clients[(r_145.member)]) EXCEPT !.topics = orElse((r_145.topics), ((clients[(r_145.member)]).topics))]
                  IN
                    happens(Heartbeat([request |-> r_145, due |-> due_149, target |-> target_152, lost |-> lost_148]), outcome_153, Put(clients, (r_145.member), (IF lost_148 THEN [sender_154 EXCEPT !.unsure = TRUE] ELSE heard(sender_154, (outcome_153.answer)))))

INSTANCES ==
  [x \in {} |-> 0]

instanceOf(id_155) ==
  IF (id_155 \in (DOMAIN INSTANCES))
  THEN
    INSTANCES[id_155]
  ELSE
    ""

request(id_156, epoch_157, topics_158, owned_159) ==
  [member |-> id_156, instance |-> instanceOf(id_156), epoch |-> epoch_157, topics |-> topics_158, owned |-> owned_159, renamed |-> FALSE, unresolved |-> FALSE, prefers |-> FALSE, classic |-> FALSE]

beatOf(id_160, c_161, says_162) ==
  request(id_160, (c_161.epoch), (IF (c_161.unsure) THEN Some((c_161.topics)) ELSE None), (IF says_162 THEN Some((c_161.owned)) ELSE None))

\* KIP: Heartbeat & Session. It says what it owns, or leaves that out.
beats ==
  \E id_163 \in {i_164 \in ids : (((clients[i_164]).epoch) > 0)} :
    \E says_165 \in (IF ((clients[id_163]).unsure) THEN {TRUE} ELSE {TRUE, FALSE}) :
      sends(beatOf(id_163, (clients[id_163]), says_165))

ClientActs(ClientActsParam_166) ==
  [tag |-> "ClientActs", of_ClientActs |-> ClientActsParam_166]

\* KIP: Revocation, Assignment: the client uses what is assigned to it, and nothing else.
adopts ==
  \E id_167 \in {i_168 \in ids : (((clients[i_168]).owned) /= ((clients[i_168]).assigned))} :
    LET c_169 ==
        clients[id_167]
    IN
      happens(ClientActs(id_167), [group |-> group, answer |-> nothing], Put(clients, id_167, [c_169 EXCEPT !.owned = (c_169.assigned)]))

SUBSCRIPTIONS ==
  {{"foo"}}

\* KIP: Joining & Leaving. A client without an epoch joins, whatever the group believes about it.
joins ==
  \E id_170 \in {i_171 \in ids : (((clients[i_171]).epoch) = 0)} :
    \E topics_172 \in {names_173 \in SUBSCRIPTIONS : (\/ (names_173 /= {}) \/ (rules.joinsWithoutTopics))} :
      sends(request(id_170, 0, Some(topics_172), Some({})))

\* KIP: Heartbeat & Session. The process dies and forgets; the group does not notice yet.
crashes ==
  \E id_174 \in {i_175 \in ids : (((clients[i_175]).epoch) > 0)} :
    happens(ClientActs(id_174), [group |-> group, answer |-> nothing], Put(clients, id_174, outside))

Leave(LeaveParam_176) ==
  [tag |-> "Leave", of_Leave |-> LeaveParam_176]

\* KIP: Static Membership: the member will be back within its session timeout and keeps its partitions. Nothing is bumped
\* (GMM.consumerGroupStaticMemberGroupLeave). The assignment epochs restart, so that whoever comes back may commit.
away(g_177, id_178) ==
  LET m_179 ==
      (g_177.members)[id_178]
  IN
    [g_177 EXCEPT !.members = Put((g_177.members), id_178, [[[m_179 EXCEPT !.epoch = (-2)] EXCEPT !.pending = [x \in {} |-> 0]] EXCEPT !.assigned = [any_180 \in (DOMAIN (m_179.assigned)) |-> 0]])]

\* Members are removed, whatever the reason; this bumps the epoch once (GMM.consumerGroupFenceMembers).
removed(rules_181, image_182, g_183, gone_184) ==
  LET members_185 ==
      only((g_183.members), ((DOMAIN (g_183.members)) \ gone_184))
  IN
    LET moves_186 ==
        /\ (rules_181.emptiedHasTarget)
        /\ (members_185 = [x \in {} |-> 0])
    IN
      [[[[[[[g_183 EXCEPT !.epoch = ((g_183.epoch) + 1)] EXCEPT !.assignmentEpoch = (IF moves_186 THEN (g_183.epoch) + 1 ELSE g_183.assignmentEpoch)] EXCEPT !.timed = (IF moves_186 THEN FALSE ELSE g_183.timed)] EXCEPT !.metadata = metadataOf(image_182, members_185)] EXCEPT !.members = members_185] EXCEPT !.target = only((g_183.target), ((DOMAIN (g_183.target)) \ gone_184))] EXCEPT !.revoking = only((g_183.revoking), ((DOMAIN (g_183.revoking)) \ gone_184))]

\* KIP: Joining & Leaving: epoch -1 leaves, -2 leaves for a while (GMM.consumerGroupLeave). No epoch is checked.
leave(rules_187, image_188, g_189, r_190) ==
  LET holder_191 ==
      IF ((r_190.instance) = "")
      THEN
        r_190.member
      ELSE
        holderOf(g_189, (r_190.instance))
  IN
    LET done_192 ==
        [error |-> "", epoch |-> (r_190.epoch), assigned |-> None]
    IN
      IF (~(g_189.exists))
      THEN
        refused(g_189, "GROUP_ID_NOT_FOUND")
      ELSE
        IF (~(holder_191 \in (DOMAIN (g_189.members))))
        THEN
          refused(g_189, "UNKNOWN_MEMBER_ID")
        ELSE
          IF (holder_191 /= (r_190.member))
          THEN
            refused(g_189, "FENCED_INSTANCE_ID")
          ELSE
            IF (/\ ((r_190.epoch) = (-2)) /\ ((r_190.instance) /= ""))
            THEN
              [group |-> away(g_189, (r_190.member)), answer |-> done_192]
            ELSE
              [group |-> removed(rules_187, image_188, g_189, {(r_190.member)}), answer |-> done_192]

\* KIP: Joining & Leaving; Static Membership.
leaves ==
  \E id_193 \in {i_194 \in ids : (((clients[i_194]).epoch) > 0)} :
    \E epoch_195 \in (IF (instanceOf(id_193) = "") THEN {(-1)} ELSE {(-1), (-2)}) :
      LET r_196 ==
          request(id_193, epoch_195, None, None)
      IN
        happens(Leave(r_196), leave(rules, image, group, r_196), Put(clients, id_193, outside))

groupBecomes(what_197, after_198) ==
  happens(what_197, [group |-> after_198, answer |-> nothing], clients)

SessionEnds(SessionEndsParam_199) ==
  [tag |-> "SessionEnds", of_SessionEnds |-> SessionEndsParam_199]

\* KIP: Heartbeat & Session.
sessionEnds(rules_200, image_201, g_202, id_203) ==
  IF (id_203 \in (DOMAIN (g_202.members)))
  THEN
    removed(rules_200, image_201, g_202, {id_203})
  ELSE
    g_202

\* KIP: Heartbeat & Session.
sessionExpires ==
  \E id_204 \in (DOMAIN (group.members)) :
    groupBecomes(SessionEnds(id_204), sessionEnds(rules, image, group, id_204))

RevocationEnds(RevocationEndsParam_205) ==
  [tag |-> "RevocationEnds", of_RevocationEnds |-> RevocationEndsParam_205]

\* KIP: Member Epoch, phase 1: the rebalance timeout. Who has left the epoch meanwhile stays (GMM, rebalance timer).
revocationEnds(rules_206, image_207, g_208, id_209) ==
  IF ((((g_208.members)[id_209]).epoch) = ((g_208.revoking)[id_209]))
  THEN
    removed(rules_206, image_207, g_208, {id_209})
  ELSE
    [g_208 EXCEPT !.revoking = without((g_208.revoking), id_209)]

\* KIP: Member Epoch, phase 1: the rebalance timeout.
revocationExpires ==
  \E id_210 \in (DOMAIN (group.revoking)) :
    groupBecomes(RevocationEnds(id_210), revocationEnds(rules, image, group, id_210))

\* For exploration: each way to another state once.
everyStep ==
  \/ (beats)
  \/ (adopts)
  \/ (joins)
  \/ (crashes)
  \/ (leaves)
  \/ (sessionExpires)
  \/ (revocationExpires)

q_step ==
  everyStep

\* A partition is assigned to one member, or pending revocation at one, at most.
noPartitionIsShared ==
  \A a_211 \in (DOMAIN (group.members)) : (\A b_212 \in (DOMAIN (group.members)) : (\/ (a_211 = b_212) \/ ((held(((group.members)[a_211])) \intersect held(((group.members)[b_212]))) = {})))

\* KIP: OffsetCommit, Request Handling, and KIP-1251 (CG.validateOffsetCommit). Returns the error; "" = accepted.
commitError(rules_213, g_214, id_215, epoch_216, p_217) ==
  IF (~(g_214.exists))
  THEN
    "GROUP_ID_NOT_FOUND"
  ELSE
    IF (/\ (epoch_216 < 0) /\ ((g_214.members) = [x \in {} |-> 0]))
    THEN
      ""
    ELSE
      IF (~(id_215 \in (DOMAIN (g_214.members))))
      THEN
        "UNKNOWN_MEMBER_ID"
      ELSE
        LET m_218 ==
            (g_214.members)[id_215]
        IN
          LET since_219 ==
              joined((m_218.assigned), (m_218.pending))
          IN
            IF (epoch_216 = (m_218.epoch))
            THEN
              ""
            ELSE
              IF (/\ (/\ (/\ (rules_213.assignmentEpochs) /\ (epoch_216 < (m_218.epoch))) /\ (p_217 \in held(m_218))) /\ ((since_219[p_217]) <= epoch_216))
              THEN
                ""
              ELSE
                "STALE_MEMBER_EPOCH"

\* Of all clients that use a partition, at most one may commit for it, zombies included.
oneMayCommit ==
  \A a_220 \in ids : (\A b_221 \in ids : (\/ (a_220 = b_221) \/ (\A p_222 \in (((clients[a_220]).owned) \intersect ((clients[b_221]).owned)) : (\/ (commitError(rules, group, a_220, ((clients[a_220]).epoch), p_222) /= "") \/ (commitError(rules, group, b_221, ((clients[b_221]).epoch), p_222) /= "")))))

\* Epochs of the group never fall; those of a member fall only where it goes away.
epochsGrow ==
  /\ ((group.epoch) >= (before.epoch))
  /\ ((group.assignmentEpoch) >= (before.assignmentEpoch))
  /\ (\A id_223 \in ((DOMAIN (group.members)) \intersect (DOMAIN (before.members))) : (\/ ((((group.members)[id_223]).epoch) >= (((before.members)[id_223]).epoch)) \/ ((((group.members)[id_223]).epoch) = (-2))))

noneAboveTarget ==
  /\ ((group.assignmentEpoch) <= (group.epoch))
  /\ (\A id_224 \in (DOMAIN (group.members)) : ((((group.members)[id_224]).epoch) <= (group.assignmentEpoch)))

\* KIP: Consumer Group States (CG.maybeUpdateGroupState).
isStable(g_225) ==
  /\ ((g_225.epoch) = (g_225.assignmentEpoch))
  /\ (\A id_226 \in (DOMAIN (g_225.members)) : (/\ ((((g_225.members)[id_226]).state) = "STABLE") /\ ((((g_225.members)[id_226]).epoch) = (g_225.assignmentEpoch))))

\* Each partition of the subscribed topics goes to exactly one member that subscribes to its topic, and nothing else.
isLegalTarget(image_227, members_228, target_229) ==
  /\ ((DOMAIN target_229) = (DOMAIN members_228))
  /\ (\A id_230 \in (DOMAIN members_228) : ((target_229[id_230]) \subseteq partitionsOf(image_227, ((members_228[id_230]).topics))))
  /\ (\A p_231 \in partitionsOf(image_227, subscribed(members_228)) : (Cardinality({id_232 \in (DOMAIN target_229) : (p_231 \in (target_229[id_232]))}) = 1))

\* Every partition of a subscribed topic, and no other, is assigned to exactly one member, which subscribes to it.
ownsAll(g_233) ==
  isLegalTarget((g_233.metadata), (g_233.members), [id_234 \in (DOMAIN (g_233.members)) |-> (DOMAIN (((g_233.members)[id_234]).assigned))])

stableOwnsAll ==
  isStable(group) => ownsAll(group)

\* KIP: Static Membership. Its return changes no other member and no epoch, and gives back what it had.
returnMovesNothing ==
  LET matched_235 == event IN
  CASE matched_235.tag = "Heartbeat" ->
      LET e_236 == matched_235.of_Heartbeat IN
      LET r_237 ==
          e_236.request
      IN
        LET old_238 ==
            IF (\/ ((r_237.instance) = "") \/ ((r_237.epoch) /= 0))
            THEN
              ""
            ELSE
              holderOf(before, (r_237.instance))
        IN
          LET returns_239 ==
              /\ (/\ (old_238 /= "")
                  /\ ((answer.error) = ""))
              /\ ((((before.members)[old_238]).epoch) = (-2))
          IN
            LET settled_240 ==
                /\ (returns_239)
                /\ ((before.epoch) = (before.assignmentEpoch))
                /\ (Some((((before.members)[old_238]).topics)) = (r_237.topics))
                /\ ((before.metadata) = metadataOf(image, (before.members)))
                /\ ((DOMAIN (((before.members)[old_238]).assigned)) = targetOf(before, old_238))
                /\ ((((before.members)[old_238]).state) = "STABLE")
            IN
              settled_240 => (/\ ((group.epoch) = (before.epoch)) /\ ((group.assignmentEpoch) = (before.assignmentEpoch)) /\ (without((group.members), (r_237.member)) = without((before.members), old_238)) /\ ((((group.members)[(r_237.member)]).assigned) = (((before.members)[old_238]).assigned)) /\ ((((group.members)[(r_237.member)]).state) = "STABLE") /\ (targetOf(group, (r_237.member)) = targetOf(before, old_238)))
  [] OTHER ->
      TRUE

safe ==
  /\ (noPartitionIsShared)
  /\ (oneMayCommit)
  /\ (epochsGrow)
  /\ (noneAboveTarget)
  /\ (stableOwnsAll)
  /\ (returnMovesNothing)

\* Without faults: a client adopts its assignment and sends a heartbeat; the session of who has no client ends.
quietTurn(r_242, topics_243, s_244, id_245) ==
  LET c_246 ==
      [((s_244.clients)[id_245]) EXCEPT !.owned = (((s_244.clients)[id_245]).assigned)]
  IN
    IF ((c_246.epoch) = 0)
    THEN
      [s_244 EXCEPT !.group = sessionEnds(r_242, topics_243, (s_244.group), id_245)]
    ELSE
      LET shared_247 ==
          partitionsOf(topics_243, subscribed(((s_244.group).members)))
      IN
        LET target_248 ==
            targetFor(topics_243, ((s_244.group).members), [p_249 \in shared_247 |-> (p_249[2])])
        IN
          LET outcome_250 ==
              heartbeat(r_242, topics_243, (s_244.group), beatOf(id_245, c_246, TRUE), TRUE, target_248)
          IN
            [group |-> (outcome_250.group), clients |-> Put((s_244.clients), id_245, heard(c_246, (outcome_250.answer)))]

quietRounds(r_251, topics_252, s_253, rounds_254) ==
  FoldSeq(LAMBDA now_255, any_256 : FoldSeq(LAMBDA each_257, id_258 : quietTurn(r_251, topics_252, each_257, id_258), now_255, IDS), s_253, RangeOf(0, rounds_254))

ROUNDS ==
  6

\* From here, without further faults, the group is stable within some rounds of heartbeats; so it stays converged.
converges ==
  LET after_259 ==
      quietRounds(rules, image, [group |-> group, clients |-> clients], ROUNDS).group
  IN
    \/ (isStable(after_259))
    \/ ((after_259.members) = [x \in {} |-> 0])

q_inv ==
  /\ (/\ (safe)
      /\ (converges))

View == <<release, image, group, clients>>
Spec == q_init /\ [][q_step]_<<release, image, group, clients, event, answer, before>>
\* After each step, also one that leads to a state that is known already.
Always == [][q_inv']_<<release, image, group, clients, event, answer, before>>
====
