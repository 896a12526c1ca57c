import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../base/clock.ts';
import { Signer, issuer, subject } from '../testing/index.ts';
import { EpochFence, authenticate } from './auth.ts';
import { JwksFile, type RefusalReason } from '@agentfleet/protocol/tokens';

const uid = '6f9619ff-8b86-d011-b42d-00c04fc964ff';
const now = () => Math.floor(Date.now() / 1000);

let dir: string;
let file: string;
let signer: Signer;
let offset: number;
let clock: Clock;
let keys: JwksFile;
let refusals: RefusalReason[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'auth-'));
  file = join(dir, 'jwks.json');
  signer = await Signer.create('one', 'RS256');
  await signer.writeJwks(file);
  offset = 0;
  clock = { ...systemClock, now: () => Date.now() + offset };
  refusals = [];
  keys = new JwksFile(file, clock, () => undefined);
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const rules = () => ({
  issuer,
  audience: uid,
  subjects: [subject],
  getKey: keys.getKey,
  clock,
  onRefused: (reason: RefusalReason) => refusals.push(reason),
});
const check = (token: string) => authenticate(`Bearer ${token}`, rules());

describe('a token', () => {
  it('of the bound account for this pod is let in, signed by RS256 or ES256', async () => {
    expect(await check(await signer.token(uid))).toBe(subject);
    expect(await check(await signer.token(uid, { audience: ['other', uid] }))).toBe(subject);
    const es = await Signer.create('es', 'ES256');
    await es.writeJwks(file);
    offset += 3000;
    expect(await check(await es.token(uid))).toBe(subject);
    expect(refusals).toEqual([]);
  });

  it.each([
    ['expired', { expires: now() - 60 }, 'AF_UNAUTHENTICATED', /expired at 20\d\d-/],
    ['notYetValid', { notBefore: now() + 3600 }, 'AF_UNAUTHENTICATED', /not valid before 20/],
    ['audience', { audience: 'another-pod' }, 'AF_UNAUTHENTICATED', /wrong audience \(has "another-pod"/],
    ['issuer', { issuer: 'https://evil' }, 'AF_UNAUTHENTICATED', /wrong issuer \(has "https:\/\/evil"/],
    ['subject', { subject: 'system:serviceaccount:fleet:other' }, 'AF_FORBIDDEN', /fleet:other/],
  ] as const)('is refused for its %s', async (reason, spec, code, words) => {
    await expect(check(await signer.token(uid, spec))).rejects.toMatchObject({ code, message: expect.stringMatching(words) as string });
    expect(refusals).toEqual([reason]);
  });

  it('that just expired is let in for the seconds that clocks differ', async () => {
    expect(await check(await signer.token(uid, { expires: now() - 2 }))).toBe(subject);
  });

  it('without a signature, or signed with a shared secret, is refused', async () => {
    const unsigned = new UnsecuredJWT({}).setIssuer(issuer).setSubject(subject).setAudience(uid).setExpirationTime('1h').encode();
    await expect(check(unsigned)).rejects.toMatchObject({
      code: 'AF_UNAUTHENTICATED',
      message: expect.stringContaining('algorithm') as string,
    });
    const secret = new TextEncoder().encode(JSON.stringify(await signer.jwks()));
    const hs = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(uid)
      .setExpirationTime('1h')
      .sign(secret);
    await expect(check(hs)).rejects.toMatchObject({ code: 'AF_UNAUTHENTICATED', message: expect.stringContaining('algorithm') as string });
  });

  it('with a changed payload or by a key of the same name is refused', async () => {
    const [header, , signature] = (await signer.token(uid)).split('.');
    const payload = Buffer.from(JSON.stringify({ iss: issuer, sub: subject, aud: uid, exp: now() + 600 })).toString('base64url');
    await expect(check(`${header}.${payload}.${signature}`)).rejects.toMatchObject({
      message: expect.stringContaining('signature') as string,
    });
    const impostor = await Signer.create('one', 'RS256');
    await expect(check(await impostor.token(uid))).rejects.toMatchObject({ code: 'AF_UNAUTHENTICATED' });
    expect(refusals).toEqual(['signature', 'signature']);
  });

  it('that is missing or no token at all is refused', async () => {
    await expect(authenticate(undefined, rules())).rejects.toMatchObject({
      message: expect.stringContaining('no Authorization') as string,
    });
    for (const header of ['Basic abc', 'Bearer', 'Bearer a.b', 'Bearer a.b.c', `Bearer ${'x'.repeat(50)}.e30.`]) {
      await expect(authenticate(header, rules())).rejects.toMatchObject({ code: 'AF_UNAUTHENTICATED' });
    }
    expect(new Set(refusals)).toEqual(new Set(['missing', 'malformed']));
  });
});

describe('the key file', () => {
  it('is read again for an unknown key, at most every 2 s, and drops keys that left it', async () => {
    const old = await signer.token(uid);
    await check(old);
    const next = await Signer.create('two', 'RS256');
    await next.writeJwks(file);
    await expect(check(await next.token(uid))).rejects.toMatchObject({ message: expect.stringContaining('unknown key') as string });
    offset += 2500;
    expect(await check(await next.token(uid))).toBe(subject);
    await expect(check(old)).rejects.toMatchObject({ code: 'AF_UNAUTHENTICATED' });
  });

  it('is read again after the clock was set back', async () => {
    expect(await check(await signer.token(uid))).toBe(subject);
    offset = -3_600_000;
    const next = await Signer.create('two', 'RS256');
    await next.writeJwks(file);
    expect(await check(await next.token(uid, { expires: now() + 60 }))).toBe(subject);
  });

  it('that becomes unreadable leaves the keys read last in force', async () => {
    await check(await signer.token(uid));
    await writeFile(file, '{broken');
    await utimes(file, new Date(), new Date(Date.now() + 5000));
    offset += 2500;
    expect(await check(await signer.token(uid))).toBe(subject);
  });

  it('that was never readable admits no request', async () => {
    await rm(file);
    await expect(check(await signer.token(uid))).rejects.toMatchObject({
      code: 'AF_UNAUTHENTICATED',
      message: expect.stringContaining('not readable') as string,
    });
  });
});

describe('the epoch fence', () => {
  const nothing = () => Promise.resolve();

  it('lets the same and higher epochs in, refuses lower ones, and remembers after a restart', async () => {
    const path = join(dir, 'epoch');
    const fence = await EpochFence.open(path);
    expect(await fence.admit('3', nothing)).toBe(3);
    expect(await fence.admit('3', nothing)).toBe(3);
    await expect(fence.admit('2', nothing)).rejects.toMatchObject({
      code: 'AF_EPOCH_STALE',
      message: expect.stringMatching(/epoch 2 .*epoch 3/) as string,
    });
    const again = await EpochFence.open(path);
    expect(again.current).toBe(3);
    expect(() => again.check('2')).toThrow(/epoch 2/);
    expect(() => again.check(undefined)).not.toThrow();
    expect(await again.admit('4', nothing)).toBe(4);
  });

  it('is on disk before anything of the new epoch happens', async () => {
    const path = join(dir, 'epoch');
    const fence = await EpochFence.open(path);
    let seen = 0;
    await fence.admit('5', async () => {
      seen = (await EpochFence.open(path)).current;
    });
    expect(seen).toBe(5);
  });

  it('makes a second request of the new epoch wait until the old work has ended', async () => {
    const fence = await EpochFence.open(join(dir, 'epoch'));
    const order: string[] = [];
    const first = fence.admit('2', async () => {
      await systemClock.sleep(30);
      order.push('ended');
    });
    const second = fence.admit('2', nothing).then(() => order.push('second'));
    await Promise.all([first, second]);
    expect(order).toEqual(['ended', 'second']);
  });

  it('admits no request before the old work has ended, also when ending it fails at first', async () => {
    const fence = await EpochFence.open(join(dir, 'epoch'));
    await fence.admit('1', nothing);
    const raised: number[][] = [];
    const failing = (from: number, to: number): Promise<void> => {
      raised.push([from, to]);
      return Promise.reject(new Error('a command does not end'));
    };
    await expect(fence.admit('2', failing)).rejects.toThrow('does not end');
    await expect(fence.admit('2', failing)).rejects.toThrow('does not end');
    await expect(fence.admit('1', nothing)).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    await expect(fence.admit('3', failing)).rejects.toThrow('does not end');
    const ended = (from: number, to: number): Promise<void> => Promise.resolve(void raised.push([from, to]));
    expect([await fence.admit('3', ended), await fence.admit('3', ended)]).toEqual([3, 3]);
    expect(raised).toEqual([
      [1, 2],
      [1, 2],
      [1, 3],
      [1, 3],
    ]);
  });

  it.each(['0', '-1', '1.5', 'x', '', '99999999999999999999'])('refuses %j as an epoch', async (header) => {
    const fence = await EpochFence.open(join(dir, 'epoch'));
    await expect(fence.admit(header, nothing)).rejects.toMatchObject({ code: 'AF_INVALID' });
    await expect(fence.admit(undefined, nothing)).rejects.toMatchObject({ code: 'AF_EPOCH_MISSING' });
  });

  it('does not fall open when its file is damaged', async () => {
    const path = join(dir, 'epoch');
    await writeFile(path, '');
    await expect(EpochFence.open(path)).rejects.toThrow(/holds no epoch/);
  });
});
