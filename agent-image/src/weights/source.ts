/** A file that is to be fetched. */
export interface RemoteFile {
  /** Relative, with `/`, without `.` and `..`. */
  readonly path: string;
  readonly bytes: number;
}

/** A place that weights are fetched from. Both methods reject with a WeightsFailure. */
export interface WeightsSource {
  list(signal: AbortSignal): Promise<readonly RemoteFile[]>;
  /** Bytes of a file, `end` excluded. */
  read(path: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array>;
}

const wanted = /\.(safetensors|json|txt|model|jinja|tiktoken)$/;

/** The files that an engine reads: other formats of the same weights, pictures and words are left where they are. */
export function filesOf(files: readonly RemoteFile[]): readonly RemoteFile[] {
  return files.filter(({ path }) => wanted.test(path) && safe(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

function safe(path: string): boolean {
  return /^[^\p{Cc}]+$/u.test(path) && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
