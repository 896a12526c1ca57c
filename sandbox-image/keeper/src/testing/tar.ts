/** One raw entry of an archive: no field is checked, so that hostile archives can be made. */
export interface RawEntry {
  readonly name: string | Buffer;
  /** ustar's type flag: 0 file, 1 hard link, 2 symlink, 3 and 4 devices, 5 folder, 6 fifo, x pax record. */
  readonly type?: string;
  readonly mode?: number;
  readonly mtime?: number;
  readonly link?: string | Buffer;
  readonly content?: string | Buffer;
}

/** A tar of these entries with its end mark. */
export function rawTar(entries: readonly RawEntry[]): Buffer {
  return Buffer.concat([...entries.map(block), Buffer.alloc(1024)]);
}

/** The record that gives the next entry's fields. */
export function paxRecord(fields: Readonly<Record<string, string | Buffer>>): RawEntry {
  const lines = Object.entries(fields).map(([key, value]) => {
    const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
    let length = rest.length + 1;
    while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
    return Buffer.concat([Buffer.from(String(length)), rest]);
  });
  return { name: 'PaxHeader', type: 'x', content: Buffer.concat(lines) };
}

function block(entry: RawEntry): Buffer {
  const content = Buffer.from(entry.content ?? '');
  const header = Buffer.alloc(512);
  Buffer.from(entry.name).copy(header, 0, 0, 100);
  const octal = (value: number, at: number, width: number): void => void header.write(value.toString(8).padStart(width, '0'), at, 'latin1');
  octal(entry.mode ?? 0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(content.length, 124, 11);
  octal(entry.mtime ?? 1_000_000_000, 136, 11);
  header.write(entry.type ?? '0', 156, 'latin1');
  Buffer.from(entry.link ?? '').copy(header, 157, 0, 100);
  header.write('ustar\u000000', 257, 'latin1');
  header.fill(' ', 148, 156);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}
