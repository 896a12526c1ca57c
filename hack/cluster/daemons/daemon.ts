// hack, cluster/daemons: type of a long-running process before its start. Of other folders imports hack/cache only.

/** One long-running process, described before it is started. */
export interface Daemon {
  readonly name: string;
  /** Absolute path of the executable. */
  readonly binary: string;
  readonly args: readonly string[];
  /** Added to the environment of the calling process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Configuration files to write before the start. */
  readonly files?: readonly ConfigFile[];
  /** Other files that the daemon reads only at its start, such as certificates. */
  readonly inputs?: readonly string[];
}

/** A configuration file and its whole text. */
interface ConfigFile {
  readonly path: string;
  readonly text: string;
}
