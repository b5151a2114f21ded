// Reads one case per line, prints what Kafka's own classes answer, one line each (see PROVENANCE.md).

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

public class KafkaAnswers {
    static final ObjectMapper JSON = new ObjectMapper();
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode question = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            switch (question.get("kind").asText()) {
                case "strings" -> strings(question, answer);
                case "numbers" -> numbers(question, answer);
                case "uuids" -> uuids(question, answer);
                case "preferences" -> preferences(question, answer);
                case "server" -> server(question, answer);
                case "client" -> client(question, answer);
                case "user_data" -> userData(question, answer);
                default -> throw new IllegalArgumentException(line);
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    static void strings(JsonNode question, ObjectNode answer) {
        Map<String, Integer> plain = new HashMap<>();
        TimelineHashMap<String, Integer> timeline = new TimelineHashMap<>(registry(), 0);
        ArrayNode hashes = answer.putArray("hashes");
        question.get("puts").forEach(key -> {
            plain.put(key.asText(), 1);
            timeline.put(key.asText(), 1);
            hashes.add(key.asText().hashCode());
        });
        question.get("removes").forEach(key -> timeline.remove(key.asText()));
        plain.keySet().forEach(answer.putArray("hash_map")::add);
        timeline.keySet().forEach(answer.putArray("timeline")::add);
    }

    static void numbers(JsonNode question, ObjectNode answer) {
        List<Integer> given = integers(question.get("numbers"));
        new HashSet<>(given).forEach(answer.putArray("copied")::add);
        Set<Integer> grown = new HashSet<>();
        given.forEach(grown::add);
        grown.forEach(answer.putArray("grown")::add);
    }

    static void uuids(JsonNode question, ObjectNode answer) {
        List<Uuid> given = new ArrayList<>();
        question.get("ids").forEach(id -> given.add(uuid(id.asText())));
        ArrayNode hashes = answer.putArray("hashes");
        given.forEach(id -> hashes.add(id.hashCode()));
        ArrayNode copied = answer.putArray("copied");
        new HashSet<>(given).forEach(id -> copied.add(hex(id)));
        Collections.sort(given);
        ArrayNode sorted = answer.putArray("sorted");
        given.forEach(id -> sorted.add(hex(id)));
    }

    static void preferences(JsonNode question, ObjectNode answer) throws Exception {
        ConsumerGroup group = new ConsumerGroup(new LogContext(), registry(), "g");
        int number = 0;
        for (JsonNode name : question.get("recorded")) group.updateMember(member("m" + number++, name));
        answer.put("recorded", group.preferredServerAssignor().orElse(null));
        int changing = question.get("changing").asInt();
        ConsumerGroupMember before = changing < 0 ? null : group.getOrMaybeCreateMember("m" + changing, false);
        answer.put("changed", group.computePreferredServerAssignor(before, member("new", question.get("wanted"))).orElse(null));
    }

    static ConsumerGroupMember member(String id, JsonNode assignor) {
        return new ConsumerGroupMember.Builder(id).setServerAssignorName(text(assignor)).build();
    }

    static void server(JsonNode question, ObjectNode answer) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            String memberId = member.get("id").asText();
            Set<Uuid> topics = new LinkedHashSet<>();
            member.get("topics").forEach(id -> topics.add(uuid(id.asText())));
            Map<Uuid, Set<Integer>> previous = new HashMap<>();
            member.get("previous").fields().forEachRemaining(entry -> {
                Uuid topic = uuid(entry.getKey());
                previous.put(topic, new HashSet<>(integers(entry.getValue())));
                previous.get(topic).forEach(partition ->
                    owners.computeIfAbsent(topic, any -> new HashMap<>()).put(partition, memberId));
            });
            members.put(memberId, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.ofNullable(text(member.get("instance"))), topics, new Assignment(previous)));
        }
        Map<Uuid, Integer> counts = new HashMap<>();
        question.get("counts").fields().forEachRemaining(entry -> counts.put(uuid(entry.getKey()), entry.getValue().asInt()));
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            public int numPartitions(Uuid topic) {
                return counts.getOrDefault(topic, -1);
            }

            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
        PartitionAssignor assignor = question.get("assignor").asText().equals("range")
            ? new org.apache.kafka.coordinator.group.assignor.RangeAssignor() : new UniformAssignor();
        SubscriptionType type = SubscriptionType.valueOf(question.get("type").asText());
        ObjectNode target = answer.putObject("target");
        assignor.assign(new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners), describer).members()
            .forEach((memberId, assignment) -> {
                ObjectNode topics = target.putObject(memberId);
                assignment.partitions().forEach((topic, partitions) ->
                    new TreeSet<>(partitions).forEach(topics.putArray(hex(topic))::add));
            });
        members.keySet().forEach(answer.putArray("order")::add);
    }

    static void client(JsonNode question, ObjectNode answer) {
        Map<String, ConsumerPartitionAssignor.Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            List<String> topics = new ArrayList<>();
            member.get("topics").forEach(topic -> topics.add(topic.asText()));
            String userData = text(member.get("user_data"));
            ConsumerPartitionAssignor.Subscription subscription = new ConsumerPartitionAssignor.Subscription(
                topics, userData == null ? null : ByteBuffer.wrap(HEX.parseHex(userData)),
                partitions(member.get("owned")), member.get("generation").asInt(), Optional.empty());
            subscription.setGroupInstanceId(Optional.ofNullable(text(member.get("instance"))));
            subscriptions.put(member.get("id").asText(), subscription);
        }
        Node node = new Node(0, "host", 1);
        Node[] nodes = {node};
        List<PartitionInfo> infos = new ArrayList<>();
        question.get("counts").fields().forEachRemaining(entry -> {
            for (int i = 0; i < entry.getValue().asInt(); i++)
                infos.add(new PartitionInfo(entry.getKey(), i, node, nodes, nodes));
        });
        ConsumerPartitionAssignor assignor = switch (question.get("assignor").asText()) {
            case "range" -> new org.apache.kafka.clients.consumer.RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            default -> new CooperativeStickyAssignor();
        };
        assignor.assign(new Cluster("c", List.of(node), infos, Set.of(), Set.of()),
            new ConsumerPartitionAssignor.GroupSubscription(subscriptions)).groupAssignment()
            .forEach((memberId, assignment) -> answer.put(memberId, hex(ConsumerProtocol.serializeAssignment(assignment))));
    }

    @SuppressWarnings("removal")
    static void userData(JsonNode question, ObjectNode answer) {
        ConsumerGroupMetadata metadata = new ConsumerGroupMetadata("g", question.get("generation").asInt(), "m", Optional.empty());
        for (ConsumerPartitionAssignor assignor : List.of(new StickyAssignor(), new CooperativeStickyAssignor())) {
            assignor.onAssignment(new ConsumerPartitionAssignor.Assignment(partitions(question.get("held"))), metadata);
            answer.put(assignor.name(), hex(assignor.subscriptionUserData(Set.of())));
        }
    }

    static SnapshotRegistry registry() {
        return new SnapshotRegistry(new LogContext());
    }

    static String text(JsonNode node) {
        return node.isNull() ? null : node.asText();
    }

    static List<Integer> integers(JsonNode node) {
        List<Integer> found = new ArrayList<>();
        node.forEach(each -> found.add(each.asInt()));
        return found;
    }

    static List<TopicPartition> partitions(JsonNode node) {
        List<TopicPartition> found = new ArrayList<>();
        node.forEach(each -> found.add(new TopicPartition(each.get(0).asText(), each.get(1).asInt())));
        return found;
    }

    static Uuid uuid(String hex) {
        return new Uuid(Long.parseUnsignedLong(hex.substring(0, 16), 16), Long.parseUnsignedLong(hex.substring(16), 16));
    }

    static String hex(Uuid id) {
        return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }
}
