package headrace.pipelines.connect.java;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The way to Python: a frame is a length and a value.
 *
 * A value is null, a boolean, a whole number, a double, a text, bytes, a list or a map; a letter
 * says which. A command of Python's is answered by one frame. While a command is carried out, any
 * thread may ask Python something in between, which it answers at once.
 */
final class Wire {
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;
    private boolean listening; // Python waits for an answer, and takes questions
    private boolean closed;

    Wire(Socket socket) throws IOException {
        this.socket = socket;
        this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
        this.out = new DataOutputStream(socket.getOutputStream());
    }

    /** The next command; null if none has come for so many milliseconds (0: wait for ever). */
    List command(int patienceMs) throws IOException {
        socket.setSoTimeout(patienceMs);
        int first;
        try {
            first = in.read();
        } catch (SocketTimeoutException quiet) {
            return null;
        }
        if (first < 0) {
            throw new EOFException();
        }
        socket.setSoTimeout(0);
        List command = (List) frame(first);
        synchronized (this) {
            listening = true;
            notifyAll();
        }
        return command;
    }

    synchronized void answer(Object value) throws IOException {
        listening = false;
        write(value);
    }

    /** What Python says to a question. */
    synchronized Object ask(List question) throws IOException, InterruptedException {
        while (!listening && !closed) {
            wait();
        }
        if (closed) {
            throw new EOFException("the worker has ended the conversation");
        }
        write(question);
        return frame(in.read());
    }

    /** Python is gone: nothing is asked any more. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    private Object frame(int first) throws IOException {
        int length = first << 24 | in.readUnsignedByte() << 16 | in.readUnsignedShort();
        byte[] data = new byte[length];
        in.readFully(data);
        return read(ByteBuffer.wrap(data));
    }

    private void write(Object value) throws IOException {
        ByteArrayOutputStream made = new ByteArrayOutputStream(1 << 12);
        write(new DataOutputStream(made), value);
        out.writeInt(made.size());
        made.writeTo(out);
        out.flush();
    }

    private static Object read(ByteBuffer data) {
        byte kind = data.get();
        switch (kind) {
            case 'n':
                return null;
            case 't':
                return Boolean.TRUE;
            case 'f':
                return Boolean.FALSE;
            case 'i':
                return Long.valueOf(data.getLong());
            case 'd':
                return Double.valueOf(data.getDouble());
            case 's':
                return new String(bytes(data), StandardCharsets.UTF_8);
            case 'b':
                return bytes(data);
            case 'l':
                return list(data);
            case 'm':
                return map(data);
            default:
                throw new IllegalArgumentException("no value begins with " + kind);
        }
    }

    private static byte[] bytes(ByteBuffer data) {
        byte[] found = new byte[data.getInt()];
        data.get(found);
        return found;
    }

    private static List list(ByteBuffer data) {
        int count = data.getInt();
        List found = new ArrayList(count);
        for (int i = 0; i < count; i++) {
            found.add(read(data));
        }
        return found;
    }

    private static Map map(ByteBuffer data) {
        int count = data.getInt();
        Map found = new LinkedHashMap();
        for (int i = 0; i < count; i++) {
            Object key = read(data);
            found.put(key, read(data));
        }
        return found;
    }

    private static void write(DataOutputStream out, Object value) throws IOException {
        if (value == null) {
            out.writeByte('n');
        } else if (value instanceof Boolean) {
            out.writeByte(((Boolean) value).booleanValue() ? 't' : 'f');
        } else if (value instanceof Long || value instanceof Integer || value instanceof Short
                || value instanceof Byte) {
            out.writeByte('i');
            out.writeLong(((Number) value).longValue());
        } else if (value instanceof Double || value instanceof Float) {
            out.writeByte('d');
            out.writeDouble(((Number) value).doubleValue());
        } else if (value instanceof byte[]) {
            writeBytes(out, 'b', (byte[]) value);
        } else if (value instanceof Map) {
            out.writeByte('m');
            out.writeInt(((Map) value).size());
            Iterator each = ((Map) value).entrySet().iterator();
            while (each.hasNext()) {
                Map.Entry entry = (Map.Entry) each.next();
                write(out, entry.getKey());
                write(out, entry.getValue());
            }
        } else if (value instanceof Collection) {
            out.writeByte('l');
            out.writeInt(((Collection) value).size());
            Iterator each = ((Collection) value).iterator();
            while (each.hasNext()) {
                write(out, each.next());
            }
        } else {
            writeBytes(out, 's', value.toString().getBytes(StandardCharsets.UTF_8));
        }
    }

    private static void writeBytes(DataOutputStream out, int kind, byte[] data)
            throws IOException {
        out.writeByte(kind);
        out.writeInt(data.length);
        out.write(data);
    }
}
