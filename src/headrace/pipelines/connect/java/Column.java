package headrace.pipelines.connect.java;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Byte strings of many rows: the lengths of all, -1 for null, and after them the bytes. */
final class Column {
    private final List lengths = new ArrayList();
    private final ByteArrayOutputStream data = new ByteArrayOutputStream(1 << 12);

    void add(byte[] value) {
        lengths.add(Integer.valueOf(value == null ? -1 : value.length));
        if (value != null) {
            data.write(value, 0, value.length);
        }
    }

    void writeTo(List frame) {
        frame.add(numbers(lengths));
        frame.add(data.toByteArray());
    }

    /** Integers, as their four bytes each. */
    static byte[] numbers(List values) {
        ByteBuffer made = ByteBuffer.allocate(4 * values.size()).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < values.size(); i++) {
            made.putInt(((Integer) values.get(i)).intValue());
        }
        return made.array();
    }

    /** Longs, as their eight bytes each. */
    static byte[] longs(List values) {
        ByteBuffer made = ByteBuffer.allocate(8 * values.size()).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < values.size(); i++) {
            made.putLong(((Long) values.get(i)).longValue());
        }
        return made.array();
    }

    static ByteBuffer view(Object bytes) {
        return ByteBuffer.wrap((byte[]) bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Reads a column of a frame, value by value. */
    static final class Reader {
        private final ByteBuffer lengths;
        private final ByteBuffer data;

        Reader(Object lengths, Object data) {
            this.lengths = view(lengths);
            this.data = view(data);
        }

        byte[] next() {
            int length = lengths.getInt();
            if (length < 0) {
                return null;
            }
            byte[] value = new byte[length];
            data.get(value);
            return value;
        }
    }
}
