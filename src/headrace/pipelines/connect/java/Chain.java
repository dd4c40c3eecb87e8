package headrace.pipelines.connect.java;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * The converters and transforms of a connector, and what is tried again when they fail.
 *
 * `stage` and `executing` name the step that was begun last: a fault is one of theirs.
 */
final class Chain {
    private static final String SIMPLE_HEADERS =
            "org.apache.kafka.connect.storage.SimpleHeaderConverter";

    private final Converter keys;
    private final Converter values;
    private final HeaderConverter headers;
    private final List links = new ArrayList();
    private final long retryMs;
    private final long mostPauseMs;
    private final boolean toleratesAll;
    String stage;
    String executing;

    Chain(Map settings, Contexts contexts) throws Exception {
        keys = converter(settings, contexts, "key", true);
        values = converter(settings, contexts, "value", false);
        String named = Settings.text(settings, "header.converter", SIMPLE_HEADERS);
        headers = (HeaderConverter) Settings.made(named);
        Map own = Settings.under(settings, "header.converter.");
        own.put("converter.type", "header");
        headers.configure(own);
        contexts.metricsFor(headers);
        String[] aliases = Settings.text(settings, "transforms", "").split(",");
        for (int i = 0; i < aliases.length; i++) {
            if (!aliases[i].trim().isEmpty()) {
                links.add(link(settings, contexts, aliases[i].trim()));
            }
        }
        retryMs = Long.parseLong(Settings.text(settings, "errors.retry.timeout", "0").trim());
        mostPauseMs = Long.parseLong(
                Settings.text(settings, "errors.retry.delay.max.ms", "60000").trim());
        toleratesAll = "all".equalsIgnoreCase(
                Settings.text(settings, "errors.tolerance", "none").trim());
    }

    private static Converter converter(
            Map settings, Contexts contexts, String side, boolean isKey) throws Exception {
        String key = side + ".converter";
        String named = Settings.text(settings, key, null);
        if (named == null) {
            throw new IllegalArgumentException(key + " is set neither here nor for the worker");
        }
        Converter made = (Converter) Settings.made(named);
        Map own = Settings.under(settings, key + ".");
        own.put("converter.type", side);
        made.configure(own, isKey);
        contexts.metricsFor(made);
        return made;
    }

    private static Link link(Map settings, Contexts contexts, String alias) throws Exception {
        String prefix = "transforms." + alias + ".";
        Link made = new Link();
        made.name = Settings.text(settings, prefix + "type", null);
        if (made.name == null) {
            throw new IllegalArgumentException(prefix + "type is not set");
        }
        made.transform = (Transformation) Settings.made(made.name);
        configure(made.transform, Settings.under(settings, prefix));
        contexts.metricsFor(made.transform);
        made.negated = "true".equalsIgnoreCase(Settings.text(settings, prefix + "negate", ""));
        String chosen = Settings.text(settings, prefix + "predicate", null);
        if (chosen != null) {
            String where = "predicates." + chosen.trim() + ".";
            made.predicate = (Predicate) Settings.made(
                    Settings.text(settings, where + "type", "the predicate " + chosen));
            configure(made.predicate, Settings.under(settings, where));
        }
        return made;
    }

    private static void configure(Object plugin, Map settings) {
        ((Configurable) plugin).configure(settings);
    }

    boolean toleratesAll() {
        return toleratesAll;
    }

    /** The record as it leaves the transforms; null if one of them drops it. */
    ConnectRecord transformed(ConnectRecord record) {
        stage = "TRANSFORMATION";
        ConnectRecord going = record;
        for (int i = 0; i < links.size() && going != null; i++) {
            Link link = (Link) links.get(i);
            executing = link.name;
            if (link.predicate == null || link.predicate.test(going) != link.negated) {
                going = (ConnectRecord) link.transform.apply(going);
            }
        }
        return going;
    }

    /** The headers of a record that goes to a topic. */
    Headers headersOf(ConnectRecord record) {
        begin("HEADER_CONVERTER", headers);
        RecordHeaders made = new RecordHeaders();
        Iterator each = record.headers().iterator();
        while (each.hasNext()) {
            Header header = (Header) each.next();
            made.add(header.key(), headers.fromConnectHeader(
                    record.topic(), header.key(), header.schema(), header.value()));
        }
        return made;
    }

    byte[] keyOf(ConnectRecord record, Headers made) {
        begin("KEY_CONVERTER", keys);
        return keys.fromConnectData(record.topic(), made, record.keySchema(), record.key());
    }

    byte[] valueOf(ConnectRecord record, Headers made) {
        begin("VALUE_CONVERTER", values);
        return values.fromConnectData(record.topic(), made, record.valueSchema(), record.value());
    }

    SchemaAndValue key(String topic, Headers read, byte[] data) {
        begin("KEY_CONVERTER", keys);
        return keys.toConnectData(topic, read, data);
    }

    SchemaAndValue value(String topic, Headers read, byte[] data) {
        begin("VALUE_CONVERTER", values);
        return values.toConnectData(topic, read, data);
    }

    ConnectHeaders headers(String topic, Headers read) {
        begin("HEADER_CONVERTER", headers);
        ConnectHeaders made = new ConnectHeaders();
        Iterator each = read.iterator();
        while (each.hasNext()) {
            org.apache.kafka.common.header.Header header =
                    (org.apache.kafka.common.header.Header) each.next();
            made.add(header.key(),
                    headers.toConnectHeader(topic, header.key(), header.value()));
        }
        return made;
    }

    private void begin(String what, Object by) {
        stage = what;
        executing = by.getClass().getName();
    }

    /** Whether a record is taken through all steps again, after a pause that was made here. */
    boolean again(Exception fault, int attempt, long beganMs) throws InterruptedException {
        if (!(fault instanceof RetriableException)) {
            return false;
        }
        long pauseMs = Math.min(300L << Math.min(attempt, 20), mostPauseMs);
        boolean allowed = retryMs == -1
                || System.currentTimeMillis() - beganMs + pauseMs <= retryMs;
        if (allowed) {
            Thread.sleep(pauseMs);
        }
        return allowed;
    }

    void close() throws Exception {
        for (int i = 0; i < links.size(); i++) {
            Link link = (Link) links.get(i);
            link.transform.close();
            if (link.predicate != null) {
                link.predicate.close();
            }
        }
        headers.close();
    }

    private static final class Link {
        String name;
        Transformation transform;
        Predicate predicate;
        boolean negated;
    }
}
