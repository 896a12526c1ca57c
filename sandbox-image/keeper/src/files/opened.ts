import { readlink, type FileHandle } from 'node:fs/promises';

/**
 * Whether what is open stands at this real path: a command that runs beside a reader may have put
 * a link in the way between the look at a path and its opening. The kernel's own name for the file
 * cannot be led astray. False as well when it was renamed or removed meanwhile.
 */
export async function standsAt(handle: FileHandle, path: Uint8Array | string): Promise<boolean> {
  const name = await readlink(`/proc/self/fd/${handle.fd}`, 'buffer');
  return name.equals(typeof path === 'string' ? Buffer.from(path) : path);
}
