import { tmpdir } from 'node:os';
import { writeFile } from 'node:fs/promises';
import { createArtifactStore, type ArtifactStore } from '@agentfleet/agent/store';
import { storeContract } from '@agentfleet/agent/store/testing';
import { systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { areBuilt, goFacts } from '../cluster/build/binaries.ts';
import { s3ServerBinary } from '../images/index.ts';
import { startLocalServer, type LocalServer } from './localServer.ts';

const go = await goFacts();
const built = go !== undefined && (await areBuilt(['versitygw'], go));

function open({ endpoint, credentialFile }: LocalServer, uri: string): ArtifactStore {
  return createArtifactStore(
    { type: 'S3', uri, endpoint, region: 'us-east-1', forcePathStyle: true, credentialFile },
    { clock: systemClock, random: () => 0, spool: tmpdir(), maxWaitMs: 5000 },
  );
}

// The build stage of the tests builds the server.
describe.skipIf(!built)('a real S3 server', () => {
  storeContract('a bucket with a prefix', async () => {
    const server = await startLocalServer(await s3ServerBinary());
    const uri = `s3://${server.bucket}/pool/a/`;
    return { store: open(server, uri), uri, close: () => server.close() };
  });

  storeContract('a whole bucket', async () => {
    const server = await startLocalServer(await s3ServerBinary());
    const uri = `s3://${server.bucket}/`;
    return { store: open(server, uri), uri, close: () => server.close() };
  });

  describe('refusals', () => {
    let server: LocalServer;
    beforeAll(async () => {
      server = await startLocalServer(await s3ServerBinary());
    });
    afterAll(() => server.close());

    it('reports a missing bucket', async () => {
      const store = open(server, 's3://nobody');
      await expect(store.put('x', 'x', 'text/plain')).rejects.toMatchObject({ code: 'NoBucket' });
      await expect(store.list('')).rejects.toMatchObject({ code: 'NoBucket' });
    });

    it('keeps pools apart that share a bucket', async () => {
      const [a, b] = [open(server, 's3://agents/a'), open(server, 's3://agents/ab')];
      await Promise.all([a.put('x', 'of a', 'text/plain'), b.put('x', 'of b', 'text/plain')]);
      expect(await a.list('')).toEqual(['x']);
      await a.remove(['x']);
      expect((await b.get('x')).toString()).toBe('of b');
    });

    it('reports which credential is wrong, without it', async () => {
      for (const wrong of ['nobody:key-that-is-secret', 'no credential: at all']) {
        await writeFile(server.credentialFile, wrong);
        const refused = open(server, 's3://agents').list('');
        await expect(refused).rejects.toMatchObject({ code: 'Credential' });
        await expect(refused).rejects.not.toThrow('key-that-is-secret');
      }
    });
  });
});
