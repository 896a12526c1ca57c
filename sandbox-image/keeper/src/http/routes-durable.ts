import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { maxLogBytes, maxManifestBytes, maxPartsBytes } from '@agentfleet/protocol/keeper';
import { exportParts } from '../durable/index.ts';
import { KeeperError } from '../failure.ts';
import type { Keeper } from '../keeper.ts';
import { manifestText } from '../snapshot/index.ts';
import { streamOf } from './body.ts';
import type { Validators } from './validation.ts';

interface ById {
  readonly Params: { readonly id: string };
}

const requestBytes = 8 * 1024 * 1024;
const octets = 'application/octet-stream';

/** What leaves for a durable store, and what comes back from one. */
export function durableRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { adoptions, snapshots } = keeper.parts;

  app.get<ById>('/snapshots/:id/manifest', async (request, reply) => {
    const { entries } = await snapshots.manifest(request.params.id);
    return reply.type(octets).send(manifestText(entries));
  });

  app.post('/objects', { bodyLimit: requestBytes }, async (request, reply) =>
    reply.type(octets).send(await exportParts(validators.parts(request.body), snapshots)),
  );

  app.post('/adoption', async (request, reply) => reply.code(201).send(await adopting(keeper, request, () => adoptions.begin())));

  app.delete('/adoption', (request) => adopting(keeper, request, () => adoptions.drop()));

  app.put('/adoption/log', { bodyLimit: maxLogBytes }, (request) =>
    adopting(keeper, request, () => adoptions.log(streamOf(request, octets))),
  );

  app.put('/adoption/objects', { bodyLimit: maxPartsBytes }, (request) =>
    adopting(keeper, request, async () => adoptions.objects(await whole(streamOf(request, octets)))),
  );

  app.put<ById>('/adoption/manifests/:id', { bodyLimit: maxManifestBytes }, (request) =>
    adopting(keeper, request, () => adoptions.manifest(snapshotId(request.params.id), streamOf(request, octets))),
  );

  app.post('/adoption/commit', { bodyLimit: requestBytes }, (request) =>
    adopting(keeper, request, () => adoptions.commit(validators.adoption(request.body))),
  );
}

/** Nothing else may begin to be the history of this keeper meanwhile. */
async function adopting<T>({ parts: { fence, gate } }: Keeper, request: FastifyRequest, step: () => Promise<T>): Promise<T | object> {
  const release = gate.exclusive({ kind: 'adoption', name: '' });
  try {
    fence.assert(request.epoch);
    return (await step()) ?? {};
  } finally {
    release();
  }
}

async function whole(from: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxPartsBytes) throw new KeeperError('AF_TOO_LARGE', `more than ${maxPartsBytes} bytes were sent`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function snapshotId(id: string): string {
  if (/^s\d{4,12}$/.test(id)) return id;
  throw new KeeperError('AF_INVALID', 'id: it must be the id of a snapshot');
}
