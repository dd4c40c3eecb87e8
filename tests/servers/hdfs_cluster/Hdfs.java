import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A NameNode on the given port and a DataNode, in a folder, until the process ends. */
public class Hdfs {
    public static void main(String[] args) throws Exception {
        Configuration conf = new HdfsConfiguration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(args[0]).getAbsolutePath());
        conf.set("dfs.permissions.superusergroup", "hadoop");
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf)
            .nameNodePort(Integer.parseInt(args[1]))
            .numDataNodes(1)
            .build();
        cluster.waitActive();
        System.out.println("HDFS is ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
