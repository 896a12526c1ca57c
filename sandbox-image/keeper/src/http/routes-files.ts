import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { editBounds, maxFileBytes, type FileWritten, type SyntaxMode } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { openFile, syntaxCheck, writeChecked, writeFile, type WriteOptions } from '../files/index.ts';
import type { Keeper } from '../keeper.ts';
import { streamOf } from './body.ts';
import { sendRedacted } from './redacted.ts';
import type { Validators } from './validation.ts';

/** Single files. */
export function fileRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { gate } = keeper.parts;

  app.get('/files', async (request, reply) => {
    const { path, redaction } = validators.file(request.query);
    const release = gate.reading({ kind: 'file transfer', name: path });
    // The path is checked under the gate; what is open after that stays the file that was checked.
    const file = await openFile(keeper.roots, path).finally(release);
    return sendRedacted(keeper, { what: 'Bytes', name: path, redaction }, file, reply);
  });

  app.put('/files', { bodyLimit: maxFileBytes }, (request) => put(keeper, request, validators));
}

async function put(keeper: Keeper, request: FastifyRequest, validators: Validators): Promise<FileWritten> {
  const { path, mode, syntax } = validators.file(request.query);
  const stream = streamOf(request, 'application/octet-stream');
  const bytes = announcedBytes(request);
  // An upload is taken as it is: only who asks for a check, and what is no larger than an edit, is read whole.
  const checked = syntax === 'Check' && bytes <= editBounds.fileBytes;
  const content = checked ? await buffer(stream) : stream;
  return writeWhole(keeper, { epoch: request.epoch, path, mode, content, bytes, syntax: checked ? 'Check' : undefined });
}

/** A file that is to be written: bytes that are there, or a stream of them, which cannot be checked. */
export interface WholeFile {
  readonly epoch: number;
  readonly path: string;
  readonly mode: string | undefined;
  readonly content: Buffer | Readable;
  readonly bytes: number;
  /** Undefined: nothing is said about syntax. */
  readonly syntax: SyntaxMode | undefined;
}

/** Writes a file under the gate. @throws KeeperError */
export async function writeWhole(keeper: Keeper, { epoch, path, mode, content, bytes, syntax }: WholeFile): Promise<FileWritten> {
  const { gate, fence, log, quota, random, syntax: parser } = keeper.parts;
  await quota.assertWithin(bytes);
  const release = gate.shared({ kind: 'file transfer', name: path });
  try {
    const options: WriteOptions = {
      mode: mode === undefined ? null : Number.parseInt(mode, 8),
      random,
      beforeCommit: () => fence.assert(epoch),
    };
    const checked = Buffer.isBuffer(content) && syntax !== undefined;
    const written = checked
      ? await writeChecked(keeper.roots, path, content, { ...options, checkSyntax: syntaxCheck(parser, syntax) })
      : await writeFile(keeper.roots, path, Buffer.isBuffer(content) ? Readable.from([content]) : content, options);
    quota.charge(written.bytes);
    log.append('FileWritten', { ...written });
    return written;
  } finally {
    release();
  }
}

/** Declared size of the body; the limit is checked again while it is read. */
function announcedBytes(request: FastifyRequest): number {
  const bytes = Number(request.headers['content-length'] ?? 0);
  if (bytes > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `the content has ${bytes} bytes, ${maxFileBytes} are allowed`);
  return bytes;
}
