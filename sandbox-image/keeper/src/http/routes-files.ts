import type { FastifyInstance, FastifyRequest } from 'fastify';
import { maxFileBytes, type FileWritten } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { openFile, writeFile } from '../files/index.ts';
import type { Keeper } from '../keeper.ts';
import { streamOf } from './body.ts';
import type { Validators } from './validation.ts';

/** Single files. */
export function fileRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { gate } = keeper.parts;

  app.get('/files', async (request, reply) => {
    const { path } = validators.file(request.query);
    const release = gate.shared({ kind: 'file transfer', name: path });
    // The path is checked under the gate; what is open after that stays the file that was checked.
    const file = await openFile(keeper.roots, path).finally(release);
    return reply.type('application/octet-stream').header('content-length', file.bytes).send(file.content);
  });

  app.put('/files', { bodyLimit: maxFileBytes }, (request) => put(keeper, request, validators));
}

async function put(keeper: Keeper, request: FastifyRequest, validators: Validators): Promise<FileWritten> {
  const { gate, fence, log, quota, random } = keeper.parts;
  const { path, mode } = validators.file(request.query);
  const content = streamOf(request, 'application/octet-stream');
  await quota.assertWithin(announcedBytes(request));
  const release = gate.shared({ kind: 'file transfer', name: path });
  try {
    const written = await writeFile(keeper.roots, path, content, {
      mode: mode === undefined ? null : Number.parseInt(mode, 8),
      random,
      beforeCommit: () => fence.assert(request.epoch),
    });
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
