// hack, cluster/images: reproducible tar archive of files. Of other folders imports hack/cache only.

/** One regular file of an archive. */
export interface TarFile {
  readonly name: string;
  readonly content: Buffer;
  /** Permission bits, such as 0o755. */
  readonly mode: number;
}

const block = 512;

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\0`;
}

/** The header block of a regular file owned by 0:0 with time 0 (POSIX.1-1988 ustar). */
function header({ name, content, mode }: TarFile): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`the name is too long for ustar: ${name}`);
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0);
  bytes.write(octal(mode, 8), 100);
  bytes.write(octal(0, 8), 108);
  bytes.write(octal(0, 8), 116);
  bytes.write(octal(content.length, 12), 124);
  bytes.write(octal(0, 12), 136);
  bytes.write(' '.repeat(8), 148);
  bytes.write('0', 156);
  bytes.write('ustar', 257);
  bytes.write('00', 263);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}

/** A tar archive whose bytes depend on the files alone: no time, no owner, no order but the given one. */
export function tar(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap((file) => {
    const padding = (block - (file.content.length % block)) % block;
    return [header(file), file.content, Buffer.alloc(padding)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}
