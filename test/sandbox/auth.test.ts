import { decodeJwt, decodeProtectedHeader, importPKCS8, SignJWT } from 'jose';
import { createPrivateKey } from 'node:crypto';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { KeeperRefusal, newExecId } from '@agentfleet/keeper/client';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { useNamespace } from './harness.ts';

const bench = useNamespace('auth');
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await bench.open();
});

async function refusal(call: Promise<unknown>): Promise<KeeperRefusal> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof KeeperRefusal) return outcome;
  throw new Error(`expected a refusal, got ${String(outcome)}`);
}

describe('access to a sandbox', () => {
  test('the bound ServiceAccount with this pod as audience may', async () => {
    expect((await sandbox.client.info()).pod.uid).toBe(sandbox.uid);
  });

  test('a token for another audience is refused and the reason names it', async () => {
    const token = await sandbox.token({ audience: 'another-pod' });
    const no = await refusal(sandbox.clientWith({ token }).info());
    expect(no).toMatchObject({ status: 401, code: 'AF_UNAUTHENTICATED' });
    expect(no.message).toContain('another-pod');
  });

  test('an expired token, signed by the cluster itself, is refused and the reason has the time', async (context) => {
    const { signingKey } = inject('environment');
    if (signingKey === null) {
      context.skip('the signing key of this cluster is not ours');
      return;
    }
    const good = await sandbox.token();
    const pem = createPrivateKey(signingKey).export({ type: 'pkcs8', format: 'pem' }).toString();
    const sign = async (exp: number): Promise<string> => {
      const { kid, alg = 'RS256' } = decodeProtectedHeader(good);
      return new SignJWT({ ...decodeJwt(good), exp })
        .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }) })
        .sign(await importPKCS8(pem, alg));
    };
    const now = Math.floor(Date.now() / 1000);
    expect((await sandbox.clientWith({ token: await sign(now + 600) }).info()).pod.uid).toBe(sandbox.uid);
    const no = await refusal(sandbox.clientWith({ token: await sign(now - 60) }).info());
    expect(no).toMatchObject({ status: 401, code: 'AF_UNAUTHENTICATED' });
    expect(no.message).toContain(`expired at ${new Date((now - 60) * 1000).toISOString()}`);
  });

  test('a default API server token is refused', async () => {
    const token = await bench.kubectl.text(['-n', bench.namespace, 'create', 'token', 'agentfleet-worker']);
    expect(await refusal(sandbox.clientWith({ token }).info())).toMatchObject({ status: 401 });
  });

  test('another ServiceAccount of the namespace is refused', async () => {
    const token = await sandbox.token({ serviceAccount: 'default' });
    expect(await refusal(sandbox.clientWith({ token }).info())).toMatchObject({ status: 403, code: 'AF_FORBIDDEN' });
  });

  test('garbage, an unsigned and a foreign-signed token are refused', async () => {
    const good = await sandbox.token();
    const [header = '', payload = '', signature = ''] = good.split('.');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const flipped = `${signature.slice(0, -6)}${signature.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA'}`;
    for (const token of ['garbage', `${none}.${payload}.`, `${header}.${payload}.${flipped}`]) {
      expect(await refusal(sandbox.clientWith({ token }).info())).toMatchObject({ status: 401 });
    }
  });

  test('a request without a token is refused', async () => {
    const response = await fetch(new URL('/v1/info', sandbox.url));
    expect(response.status).toBe(401);
  });

  test('a lower epoch is refused once a higher one was seen', async () => {
    const [old, next] = [sandbox.clientWith({ epoch: 4 }), sandbox.clientWith({ epoch: 5 })];
    await next.run({ execId: newExecId(), tool: 'Shell', command: 'true' });
    const no = await refusal(old.run({ execId: newExecId(), tool: 'Shell', command: 'true' }));
    expect(no).toMatchObject({ status: 409, code: 'AF_EPOCH_STALE' });
    expect(no.message).toMatch(/4.*5|5.*4/);
    expect((await next.info()).epoch).toBe(5);
  });

  test('a field that the API does not have is refused by name', async () => {
    const client = sandbox.clientWith({ epoch: 9 });
    const body = { execId: newExecId(), tool: 'Shell' as const, command: 'true', priviledged: true };
    const no = await refusal(client.run(body));
    expect(no).toMatchObject({ status: 400, code: 'AF_INVALID' });
    expect(no.message).toContain('priviledged');
  });
});
