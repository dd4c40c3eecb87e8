package headrace.pipelines.connect.java;

import java.util.List;

/** A task in conversation with its host. */
interface Role {
    /** What a command is answered with. */
    Object done(String verb, List command) throws Exception;

    /** How long a command may be awaited before `idle` is called; 0: for ever. */
    int patienceMs();

    void idle() throws Exception;

    void stop() throws Exception;
}
