package org.apache.spark.sql.catalyst.expressions;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;

/**
 * The machine that reads Avro values into rows: what decode_kernel.py is for columns of Arrow.
 *
 * It runs the same programs, step by step, and is as safe on any bytes; opcodes.py says what the
 * instructions mean, rows.py in which form they come, and both what the numbers are called. An
 * object may be used by many threads: everything that changes lives in the Run of one value.
 */
public final class AvroRows implements java.io.Serializable {
    // NUMBERS

    private final int mode;
    private final int[] program;
    private final int[] columns;
    private final int[] jumps;
    private final int[] symbols;
    private final int[] shifts; // of decimals: digits that are appended or, if negative, dropped
    private final byte[] pool;
    private final String[] places;
    private final String[] reasons;
    private final String remedy;
    private final int[][] inner; // of each column: those below it that are rows and never null

    /** Tables are numbers of 32 bits in big-endian order; texts are separated by zero bytes. */
    public AvroRows(
            int mode, byte[] program, byte[] columns, byte[] jumps, byte[] symbols,
            byte[] shifts, byte[] pool, String places, String reasons, String remedy) {
        this.mode = mode;
        this.program = numbers(program);
        this.columns = numbers(columns);
        this.jumps = numbers(jumps);
        this.symbols = numbers(symbols);
        this.shifts = numbers(shifts);
        this.pool = pool;
        this.places = places.split("\0", -1);
        this.reasons = reasons.split("\0", -1);
        this.remedy = remedy;
        int count = this.columns.length / COLUMN_FIELDS;
        inner = new int[count][];
        Arrays.fill(inner, new int[0]);
        for (int column = 1; column < count; column++) {
            int parent = this.columns[COLUMN_FIELDS * column + PARENT];
            if (this.columns[COLUMN_FIELDS * column + KIND] == ROW) {
                inner[parent] = Arrays.copyOf(inner[parent], inner[parent].length + 1);
                inner[parent][inner[parent].length - 1] = column;
            }
        }
    }

    private static int[] numbers(byte[] raw) {
        int[] read = new int[raw.length / 4];
        java.nio.ByteBuffer.wrap(raw).asIntBuffer().get(read);
        return read;
    }

    /** The value of a column: a row, or whatever the reader's schema is if it is no record. */
    public Object decode(byte[] value) {
        if (value == null) {
            return mode == DEAD_LETTER ? letter(null, null) : null;
        }
        Run run = new Run(this, value);
        try {
            run.decode();
            return mode == DEAD_LETTER ? letter(run.result, null) : run.result;
        } catch (BadValue bad) {
            if (mode == PERMISSIVE) {
                return null;
            }
            String what = explain(run, bad.reason);
            if (mode == DEAD_LETTER) {
                return letter(null, UTF8String.fromString(what));
            }
            throw new SparkRuntimeException(
                "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
                new Map.Map2("badRecord", what + ". " + remedy, "failFastMode", "FAILFAST"),
                null, new QueryContext[0], "");
        }
    }

    private static Object letter(Object value, Object error) {
        return new GenericInternalRow(new Object[] {value, error});
    }

    private String explain(Run run, int reason) {
        String path = places[2 * run.here];
        String expected = places[2 * run.here + 1];
        String place = "byte " + run.before + (path.isEmpty() ? "" : ", field " + path);
        String why = reasons[reason];
        if (reason == UNRESOLVED) {
            why = expected;
            expected = "a branch that the reader knows";
        }
        return place + ": expected " + expected + ", but " + why;
    }

    /** Two that do the same are the same: Spark then evaluates them once. */
    public boolean equals(Object other) {
        if (!(other instanceof AvroRows)) {
            return false;
        }
        AvroRows that = (AvroRows) other;
        return mode == that.mode
            && Arrays.equals(program, that.program)
            && Arrays.equals(columns, that.columns)
            && Arrays.equals(jumps, that.jumps)
            && Arrays.equals(symbols, that.symbols)
            && Arrays.equals(shifts, that.shifts)
            && Arrays.equals(pool, that.pool)
            && Arrays.equals(places, that.places);
    }

    public int hashCode() {
        return 31 * Arrays.hashCode(program) + Arrays.hashCode(places);
    }

    public String toString() {
        return "from_avro";
    }

    /** Why a value is bad; it is thrown for each of them, and where it comes from is known. */
    static final class BadValue extends RuntimeException {
        final int reason;

        BadValue(int reason) {
            super(null, null, false, false);
            this.reason = reason;
        }
    }

    /** The decoding of one value. */
    static final class Run {
        private final AvroRows machine;
        private final int[] columns;
        private final GenericInternalRow[] rows;
        private ArrayList[] lists;
        private byte[] in;
        private int at;
        private int end;
        Object result;
        int here;
        int before;

        Run(AvroRows machine, byte[] value) {
            this.machine = machine;
            columns = machine.columns;
            rows = new GenericInternalRow[columns.length / COLUMN_FIELDS];
            in = value;
            end = value.length;
        }

        void decode() {
            int[] program = machine.program;
            byte[] value = in;
            int counter = 0;
            int depth = 0;
            int resume = 0;
            int budget = MAX_EMPTY_ITEMS;
            int[] left = null;
            while (true) {
                here = counter++;
                before = at;
                int code = program[INSTRUCTION_FIELDS * here + OP];
                int column = program[INSTRUCTION_FIELDS * here + COLUMN];
                int a = program[INSTRUCTION_FIELDS * here + A];
                int b = program[INSTRUCTION_FIELDS * here + B];
                if (code <= LAST_VALUE) {
                    put(column, code <= LAST_VARINT ? number(code, a) : scalar(code, column, a, b));
                    continue;
                }
                switch (code) {
                    case SKIP_INT:
                        readInt();
                        break;
                    case SKIP_LONG:
                        readLong();
                        break;
                    case SKIP_BYTES:
                        skip(readLength());
                        break;
                    case SKIP_FIXED:
                        skip(a);
                        break;
                    case SKIP_BOOLEAN:
                        skip(1);
                        break;
                    case STRUCT:
                        begin(column);
                        break;
                    case NULLS:
                        put(column, null);
                        break;
                    case UNION: {
                        long branch = readLong();
                        if (branch < 0 || branch >= b) {
                            throw new BadValue(NO_SUCH_BRANCH);
                        }
                        counter = machine.jumps[a + (int) branch];
                        break;
                    }
                    case JUMP:
                        counter = a;
                        break;
                    case LIST:
                    case SKIP_LIST:
                    case CALL:
                    case MARK:
                        if (depth == MAX_DEPTH) {
                            throw new BadValue(TOO_DEEP);
                        }
                        if (left == null) {
                            left = new int[MAX_DEPTH];
                        }
                        left[depth++] = code == CALL ? counter : code == MARK ? at : 0;
                        if (code != MARK) {
                            counter = a;
                        }
                        if (code == LIST) {
                            if (lists == null) {
                                lists = new ArrayList[rows.length];
                            }
                            lists[column] = new ArrayList();
                        }
                        break;
                    case NEXT:
                    case SKIP_NEXT:
                        if (left[depth - 1] == 0) {
                            left[depth - 1] = readBlock(b, budget, code == SKIP_NEXT);
                            if (b == 0) {
                                budget -= left[depth - 1];
                            }
                        }
                        if (left[depth - 1] > 0) {
                            left[depth - 1]--;
                            counter = a;
                            // A row that is never null has no instruction of its own.
                            if (code == NEXT && columns[COLUMN_FIELDS * (column + 1) + KIND] == ROW) {
                                begin(column + 1);
                            }
                        } else {
                            depth--;
                            if (code == NEXT) {
                                put(column, collected(column));
                            }
                        }
                        break;
                    case RETURN:
                        counter = left[--depth];
                        break;
                    case AGAIN:
                        at = left[depth - 1];
                        depth -= a;
                        break;
                    case DEFAULT:
                        resume = at;
                        in = machine.pool;
                        at = a;
                        end = b;
                        break;
                    case RESUME:
                        in = value;
                        at = resume;
                        end = value.length;
                        break;
                    case END:
                        if (at != end) {
                            throw new BadValue(BYTES_LEFT);
                        }
                        return;
                    default:
                        throw new BadValue(UNRESOLVED);
                }
            }
        }

        /** A new row, with those below it that are never null. */
        private void begin(int column) {
            rows[column] = new GenericInternalRow(columns[COLUMN_FIELDS * column + SIZE]);
            put(column, rows[column]);
            int[] below = machine.inner[column];
            for (int i = 0; i < below.length; i++) {
                begin(below[i]);
            }
        }

        private void put(int column, Object value) {
            int parent = columns[COLUMN_FIELDS * column + PARENT];
            if (parent < 0) {
                result = value;
            } else if (columns[COLUMN_FIELDS * parent + KIND] >= ARRAY) {
                lists[parent].add(value);
            } else {
                rows[parent].update(columns[COLUMN_FIELDS * column + ORDINAL], value);
            }
        }

        private Object collected(int column) {
            Object[] items = lists[column].toArray();
            if (columns[COLUMN_FIELDS * column + KIND] == ARRAY) {
                return new GenericArrayData(items);
            }
            Object[] keys = new Object[items.length];
            Object[] values = new Object[items.length];
            for (int i = 0; i < items.length; i++) {
                Object[] entry = ((GenericInternalRow) items[i]).values();
                keys[i] = entry[0];
                values[i] = entry[1];
            }
            return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
        }

        private Object number(int code, int scale) {
            switch (code) {
                case INT_TO_INT32:
                    return readInt();
                case INT_TO_INT64:
                    return (long) readInt() * scale;
                case INT_TO_FLOAT32:
                    return (float) readInt();
                case INT_TO_FLOAT64:
                    return (double) readInt();
                case LONG_TO_INT64: {
                    long value = readLong();
                    if (scale > 1 && (value > Long.MAX_VALUE / scale || value < -(Long.MAX_VALUE / scale))) {
                        throw new BadValue(OUT_OF_RANGE);
                    }
                    return value * scale;
                }
                case LONG_TO_TIME: {
                    long value = readLong();
                    if (value < 0 || value >= MICROS_OF_A_DAY) {
                        throw new BadValue(OUT_OF_RANGE);
                    }
                    return value * 1000;
                }
                case LONG_TO_FLOAT32:
                    return (float) readLong();
                case LONG_TO_FLOAT64:
                    return (double) readLong();
                default:
                    throw new IllegalStateException("no number has the code " + code);
            }
        }

        private Object scalar(int code, int column, int a, int b) {
            switch (code) {
                case TEXT: {
                    int size = readLength();
                    UTF8String text = UTF8String.fromBytes(in, at, size);
                    if (!isAscii(size) && !text.isValid()) {
                        throw new BadValue(NOT_UTF8);
                    }
                    at += size;
                    return text;
                }
                case OPAQUE:
                    return take(readLength());
                case FIXED:
                    return take(a);
                case ENUM: {
                    long symbol = readLong();
                    if (symbol < 0 || symbol >= b) {
                        throw new BadValue(NO_SUCH_SYMBOL);
                    }
                    int start = machine.symbols[2 * (a + (int) symbol)];
                    if (start < 0) {
                        throw new BadValue(SYMBOL_UNKNOWN_TO_READER);
                    }
                    int size = machine.symbols[2 * (a + (int) symbol) + 1];
                    return UTF8String.fromBytes(machine.pool, start, size);
                }
                case BOOLEAN: {
                    int start = skip(1);
                    if (in[start] != 0 && in[start] != 1) {
                        throw new BadValue(NOT_A_BOOLEAN);
                    }
                    return in[start] == 1;
                }
                case FLOAT_TO_FLOAT32:
                    return Float.intBitsToFloat((int) readWord(4));
                case FLOAT_TO_FLOAT64:
                    return (double) Float.intBitsToFloat((int) readWord(4));
                case DOUBLE_TO_FLOAT64:
                    return Double.longBitsToDouble(readWord(8));
                case DECIMAL:
                    return decimal(take(a < 0 ? readLength() : a), column, machine.shifts[b]);
                default:
                    throw new IllegalStateException("no instruction has the code " + code);
            }
        }

        private Decimal decimal(byte[] digits, int column, int shift) {
            BigInteger unscaled = digits.length == 0 ? BigInteger.ZERO : new BigInteger(digits);
            int precision = columns[COLUMN_FIELDS * column + SIZE];
            int scale = columns[COLUMN_FIELDS * column + SCALE];
            if (unscaled.bitLength() > MAX_DECIMAL_BITS) {
                throw new BadValue(DECIMAL_TOO_LARGE);
            }
            BigDecimal written = new BigDecimal(unscaled, scale - shift);
            BigDecimal number = written.setScale(scale, RoundingMode.DOWN);
            if (number.precision() > precision) {
                throw new BadValue(DECIMAL_TOO_LARGE);
            }
            if (number.compareTo(written) != 0) {
                throw new BadValue(NOT_EXACT);
            }
            return Decimal.apply(number, precision, scale);
        }

        /** The number of items in the next block of an array or map, 0 behind the last. */
        private int readBlock(int least, int budget, boolean skipping) {
            long count = readLong();
            while (count < 0) {
                int size = readLength();
                count = -count;
                if (!skipping) {
                    break;
                }
                skip(size);
                count = readLong();
            }
            long most = least > 0 ? (end - at) / least : budget;
            if (count > most || count < 0) {
                throw new BadValue(TOO_MANY_ITEMS);
            }
            return (int) count;
        }

        private long readLong() {
            long value = 0;
            for (int shift = 0; at < end; shift += 7) {
                byte next = in[at++];
                value |= (next & 0x7fL) << shift;
                if (next >= 0) {
                    if (shift == 63 && next > 1) {
                        throw new BadValue(NUMBER_TOO_LONG);
                    }
                    return value >>> 1 ^ -(value & 1);
                }
                if (shift == 63) {
                    throw new BadValue(NUMBER_TOO_LONG);
                }
            }
            throw new BadValue(ENDS_EARLY);
        }

        private int readInt() {
            long value = readLong();
            if (value != (int) value) {
                throw new BadValue(OUT_OF_RANGE);
            }
            return (int) value;
        }

        private int readLength() {
            long length = readLong();
            if (length < 0) {
                throw new BadValue(NEGATIVE_LENGTH);
            }
            if (length > end - at) {
                throw new BadValue(ENDS_EARLY);
            }
            return (int) length;
        }

        private long readWord(int size) {
            int start = skip(size);
            long word = 0;
            for (int i = size - 1; i >= 0; i--) {
                word = word << 8 | in[start + i] & 0xff;
            }
            return word;
        }

        private byte[] take(int size) {
            int start = skip(size);
            return Arrays.copyOfRange(in, start, start + size);
        }

        /** Goes on behind the next bytes, and answers where they begin. */
        private int skip(int size) {
            if (size > end - at) {
                throw new BadValue(ENDS_EARLY);
            }
            at += size;
            return at - size;
        }

        private boolean isAscii(int size) {
            int all = 0;
            for (int i = at; i < at + size; i++) {
                all |= in[i];
            }
            return all >= 0;
        }
    }
}
