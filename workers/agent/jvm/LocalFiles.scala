package org.apache.spark.sql.headgate

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.{FsAction, FsPermission}

/** The files of a host. Hadoop sets permissions by a process, `chmod`, where its native library is missing: two for
  * each batch, forked from a JVM of hundreds of megabytes. This sets them by a call. */
class LocalFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val actions = Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction)
    val _ = Files.setPosixFilePermissions(
      pathToFile(path).toPath, PosixFilePermissions.fromString(actions.map((action: FsAction) => action.SYMBOL).mkString))
  }
}
