// protocol, keeper: canonical text of a snapshot's manifest, bytes one a character. May import environment alone.

/** First line of the text, and so part of every digest. */
export const manifestFormat = 'agentfleet-manifest/1';

/** One line, as written: `path` and `link` are undone by {@link decodePath}. */
export interface ManifestLine {
  /** `f` file, `d` directory, `l` symbolic link. Fifos, sockets and devices are never entries. */
  readonly type: 'f' | 'd' | 'l';
  /** Permission bits, 0…0o7777. */
  readonly mode: number;
  /** Bytes; 0 unless a file. */
  readonly size: number;
  /** Hex; `-` unless a file. */
  readonly sha256: string;
  /** Nanoseconds since 1970. */
  readonly mtimeNs: string;
  readonly path: string;
  /** Target of a link, or first path of a group of hard links; `-` for none. */
  readonly link: string;
  /** `''` for none. */
  readonly xattrs: string;
}

/** Parses `type mode size sha256 mtimeNs path link`, and ` xattrs` where there are any. @throws Error on any other text */
export function manifestLine(line: string): ManifestLine {
  const [type, mode = '', size, sha256 = '-', mtimeNs = '', path, link, xattrs = ''] = line.split(' ');
  if (path === undefined || link === undefined || (type !== 'f' && type !== 'd' && type !== 'l'))
    throw new Error(`not a manifest line: ${line.slice(0, 200)}`);
  return { type, mode: Number.parseInt(mode, 8), size: Number(size), sha256, mtimeNs, path, link, xattrs };
}

/** Yields the files and links of a text, in the order of their paths. @throws Error on a line of another form */
export function* manifestFiles(text: Buffer): Generator<ManifestLine> {
  for (const line of text.toString('latin1').split('\n')) {
    if (!line.startsWith('f ') && !line.startsWith('l ')) continue;
    const file = manifestLine(line);
    if (file.type === 'f' && !/^[0-9a-f]{64} \d{1,15}$/.test(`${file.sha256} ${file.size}`))
      throw new Error(`not a manifest line: ${line.slice(0, 200)}`);
    yield file;
  }
}

/** The bytes of a path in a manifest: `%XX` stands for one of them. */
export function decodePath(encoded: string): string {
  if (!encoded.includes('%')) return encoded;
  return encoded.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
