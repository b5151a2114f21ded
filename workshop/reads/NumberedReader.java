import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A member of a group that logs each record it reads and each commit; see readers.py for arguments and log. */
final class NumberedReader {
    private static PrintStream log;

    private static synchronized void write(String event, Object... fields) {
        StringBuilder line = new StringBuilder().append(System.currentTimeMillis()).append('\t').append(event);
        for (Object field : fields) {
            line.append('\t').append(field);
        }
        log.print(line.append('\n'));
    }

    private static String numbers(Collection<TopicPartition> partitions) {
        List<String> found = new ArrayList<>();
        partitions.forEach(each -> found.add(String.valueOf(each.partition())));
        return String.join(",", found);
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String each : arguments) {
            int at = each.indexOf('=');
            options.put(each.substring(0, at), each.substring(at + 1));
        }
        log = new PrintStream(new FileOutputStream(options.get("log"), true), true, StandardCharsets.UTF_8);
        int every = Integer.parseInt(options.get("commit_ms"));
        String habit = options.get("habit");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.get("servers"));
        settings.put("group.id", options.get("group"));
        settings.put("client.id", options.get("name"));
        settings.put("auto.offset.reset", options.get("reset"));
        settings.put("enable.auto.commit", "false");
        settings.put("group.protocol", options.get("protocol"));
        if (options.get("protocol").equals("classic")) {
            settings.put("session.timeout.ms", options.get("session_ms"));
            settings.put("heartbeat.interval.ms", "500");
        }
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        Map<TopicPartition, Long> read = new HashMap<>();
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join();
            } catch (InterruptedException problem) {
                Thread.currentThread().interrupt();
            }
        }));
        consumer.subscribe(List.of(options.get("topic")), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                write("assigned", numbers(partitions));
                for (TopicPartition each : partitions) {
                    if (habit.equals("seek_to_end")) {
                        consumer.seekToEnd(List.of(each));
                    } else if (habit.equals("seek_back")) {
                        consumer.seek(each, Math.max(0, consumer.position(each) - 25));
                    }
                }
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                write("revoked", numbers(partitions));
                if (!habit.equals("careless")) {
                    commit(consumer, read);
                }
                partitions.forEach(read::remove);
            }

            @Override
            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                write("lost", numbers(partitions));
                partitions.forEach(read::remove);
            }
        });
        long next = System.currentTimeMillis() + every;
        try {
            while (true) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                    read.put(new TopicPartition(each.topic(), each.partition()), each.offset() + 1);
                    write("read", each.partition(), each.offset(), each.value());
                }
                if (System.currentTimeMillis() >= next) {
                    commit(consumer, read);
                    next = System.currentTimeMillis() + every;
                }
            }
        } catch (WakeupException stop) {
            write("stopping");
        }
        consumer.close();
        write("closed");
    }

    private static void commit(KafkaConsumer<String, String> consumer, Map<TopicPartition, Long> read) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        read.forEach((each, next) -> offsets.put(each, new OffsetAndMetadata(next)));
        if (offsets.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(offsets);
            read.forEach((each, next) -> write("committed", each.partition(), next));
        } catch (WakeupException stop) {
            consumer.wakeup();
            write("refused", "wakeup");
        } catch (RuntimeException problem) {
            write("refused", problem.getClass().getSimpleName());
        }
    }
}
