import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { KeeperClient } from '../client/index.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { readConfig } from '../base/config.ts';
import { createLog } from '@agentfleet/protocol/log';
import type { Connector } from '../network/index.ts';
import { startKeeper, type RunningKeeper, type StartOptions } from '../start.ts';
import { FakeRunner, type FakeRunnerOptions } from './fake-runner.ts';
import { issuer, Signer, subject } from '@agentfleet/protocol/tokens/testing';
import { waitUntil } from './wait.ts';

export interface HarnessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly connect?: Connector;
  readonly storeDir?: string;
  readonly snapshots?: StartOptions['snapshots'];
}

const linkKey = 'a-key-of-the-link-that-is-long-enough';
export const podUid = '6f9619ff-8b86-d011-b42d-00c04fc964ff';

/** A keeper on real sockets and real folders, with a client and a fake runner at hand. */
export class Harness {
  readonly dir: string;
  readonly workspace: string;
  readonly store: string;
  readonly linkPath: string;
  readonly linkKey = linkKey;
  readonly signer: Signer;
  readonly logs: string[] = [];
  readonly #options: HarnessOptions;
  readonly #clients: KeeperClient[] = [];
  readonly #byEpoch = new Map<number, KeeperClient>();
  running!: RunningKeeper;

  constructor(dir: string, signer: Signer, options: HarnessOptions) {
    this.dir = dir;
    this.signer = signer;
    this.#options = options;
    this.workspace = join(dir, 'workspace');
    this.store = options.storeDir ?? join(dir, 'store');
    this.linkPath = join(dir, 'link.sock');
  }

  /** The keeper's environment. */
  get environment(): Readonly<Record<string, string>> {
    return {
      AGENTFLEET_LISTEN: '127.0.0.1:0',
      AGENTFLEET_EGRESS: '127.0.0.1:0',
      AGENTFLEET_LINK: this.linkPath,
      AGENTFLEET_LINK_KEY: linkKey,
      AGENTFLEET_STORE: this.store,
      AGENTFLEET_ROOTS: `workspace=${this.workspace},home=${join(this.dir, 'home')}`,
      POD_NAME: 'sandbox-1',
      POD_NAMESPACE: 'team',
      POD_UID: podUid,
      AGENTFLEET_ISSUER: issuer,
      AGENTFLEET_JWKS: join(this.dir, 'jwks.json'),
      AGENTFLEET_CLIENT: subject,
      AGENTFLEET_PROBE_TARGETS: 'apiserver=192.0.2.1:443',
      ...this.#options.env,
    };
  }

  /** Starts the keeper, again after `stop`: the same store. */
  async start(): Promise<void> {
    const config = readConfig(this.environment);
    const clock = this.#options.clock ?? systemClock;
    const logger = createLog(
      'warn',
      (line) => this.logs.push(line),
      () => clock.now(),
    );
    const connect = this.#options.connect ?? (() => Promise.resolve('ECONNREFUSED'));
    const { snapshots } = this.#options;
    this.running = await startKeeper({
      config,
      clock,
      random: randomBytes,
      logger,
      connect,
      ...(snapshots === undefined ? {} : { snapshots }),
    });
  }

  /** A client of an assignment. */
  client(epoch = 1, token?: () => Promise<string>): KeeperClient {
    const known = token === undefined ? this.#byEpoch.get(epoch) : undefined;
    if (known !== undefined) return known;
    const client = new KeeperClient({
      baseUrl: this.running.address,
      token: token ?? (() => this.signer.token(podUid)),
      epoch,
      dispatcher: new Agent({ keepAliveTimeout: 1000 }),
    });
    this.#clients.push(client);
    if (token === undefined) this.#byEpoch.set(epoch, client);
    return client;
  }

  /** Connects a fake runner and waits until the keeper believes it and the network is decided. */
  async runner(options: Partial<FakeRunnerOptions> = {}): Promise<FakeRunner> {
    const runner = await FakeRunner.connected({ path: this.linkPath, key: linkKey, ...options });
    await waitUntil(
      () => this.running.keeper.parts.link.state.instance === runner.instance && this.running.keeper.parts.link.state.connected,
    );
    await waitUntil(() => this.running.keeper.parts.network.info.state !== 'Probing');
    return runner;
  }

  async stop(): Promise<void> {
    this.#byEpoch.clear();
    await Promise.all(this.#clients.splice(0).map((client) => client.close().catch(() => undefined)));
    await this.running.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => undefined);
    await rm(this.dir, { recursive: true, force: true });
  }
}

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'keeper-')));
  const signer = await Signer.create();
  await signer.writeJwks(join(dir, 'jwks.json'));
  const harness = new Harness(dir, signer, options);
  await mkdir(harness.workspace);
  await mkdir(join(dir, 'home'));
  await harness.start();
  return harness;
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A random id in the form of a ULID. */
export function ulid(): string {
  return `0${[...randomBytes(25)].map((byte) => alphabet[byte % 32]).join('')}`;
}
