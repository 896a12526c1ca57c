import type { IsolationInfo, IsolationLevel, KeeperErrorCode, KeeperInfo } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../base/failure.ts';
import type { LinkEvents, RunnerInfo, RunnerLink } from '../link/index.ts';
import type { JwksFile } from '@agentfleet/protocol/tokens';
import { type EpochFence, authenticate } from '../auth/index.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Adoptions } from '../durable/index.ts';
import type { EgressTunnels } from '../egress/index.ts';
import { type Snapshots, chooseEngine } from '../durable/snapshots.ts';
import type { EndFacts, Executor, OutputRoom, Quota, Sessions, SpillStore, StoreReserve } from '../exec/index.ts';
import type { StagedFiles, SyntaxParser } from '../files/index.ts';
import type { PatchJournal } from '../files/patch/index.ts';
import type { Gate, Transfers } from '../base/gate.ts';
import type { EventLog } from '../log/index.ts';
import type { Log } from '@agentfleet/protocol/log';
import type { KeeperMetrics } from './metrics.ts';
import type { NetworkProbe } from '../network/index.ts';
import type { SpanRing } from '@agentfleet/protocol/tracing';
import type { Redaction } from '@agentfleet/protocol/redact';

/**
 * Derives the isolation level from the runner's probes. Each level includes the ones before it, except that a
 * RuntimeClass replaces the host kernel that Landlock and user namespaces would harden: it comes directly above
 * seccomp. That the pod names one is not enough: the runner must have found a kernel that is not the node's, or any
 * class with the node's own runtime would do.
 */
export function isolationOf(info: RunnerInfo, runtimeClass: string | null): IsolationInfo {
  // The container's own profile belongs to the node. A guest kernel replaces it and shows none; the filter of commands
  // is probed everywhere.
  const seccomp = (info.seccomp === 2 || info.guest !== null) && info.probe.seccompDenies;
  const landlockABI = info.probe.landlockDenies ? info.landlockABI : 0;
  return {
    level: levelOf(seccomp, landlockABI > 0, info.userNamespace, runtimeClass !== null && info.guest !== null),
    seccomp,
    landlockABI,
    userNamespace: info.userNamespace,
    runtimeClass,
    guestKernel: info.guest,
    noNewPrivs: info.noNewPrivs,
    capEff: info.capEff,
  };
}

function levelOf(seccomp: boolean, landlock: boolean, userNamespace: boolean, runtimeClass: boolean): IsolationLevel {
  if (!seccomp) return 'Container';
  if (runtimeClass) return 'RuntimeClass';
  if (!landlock) return 'Seccomp';
  return userNamespace ? 'UserNamespace' : 'Landlock';
}

/** Returns the reason that commands must not run in this tools container whatever its level; null when they may. */
export function isolationFault(info: RunnerInfo): string | null {
  // A failed probe proves nothing: the fault is its error, not what it could not find.
  const { storeAbsent, error } = info.probe;
  if (!storeAbsent) return error === null ? 'the tools container can see the store' : `the walls of commands cannot be tried: ${error}`;
  if (info.dumpable) return 'the runner can be dumped: commands could read the key of the link';
  if (!info.probe.powerless) return 'a command has capabilities of its container';
  return null;
}

/** Parts that decide whether commands may run. */
export interface Deciding {
  readonly config: Pick<Config, 'network' | 'snapshotEngine'>;
  readonly link: Pick<RunnerLink, 'state'>;
  readonly log: Pick<EventLog, 'broken'>;
  readonly network: Pick<NetworkProbe, 'reason'>;
}

interface NotReady {
  readonly code: KeeperErrorCode;
  readonly reason: string;
}

/** The first reason why no command may run; null when one may. Pure. */
export function notReady({ config, link, log, network }: Deciding): NotReady | null {
  if (log.broken !== null) return { code: 'AF_LOG_BROKEN', reason: `the event log is broken: ${log.broken.why}` };
  const { connected, info } = link.state;
  if (!connected || info === null) return { code: 'AF_TOOLS_UNAVAILABLE', reason: 'the tools container is not connected' };
  const fault = isolationFault(info);
  if (fault !== null) return { code: 'AF_TOOLS_UNAVAILABLE', reason: fault };
  if (info.layered !== (config.snapshotEngine === 'Overlay'))
    return { code: 'AF_TOOLS_UNAVAILABLE', reason: 'the tools container does not share the layers' };
  if (network.reason !== null && !config.network.allowUnenforced) return { code: 'AF_NETWORK_NOT_ENFORCED', reason: network.reason };
  return null;
}

/** @throws KeeperError with the first reason */
export function assertReady(parts: Deciding): void {
  const no = notReady(parts);
  if (no !== null) throw new KeeperError(no.code, no.reason);
}

/** Injected parts of the machine. */
export interface Machine {
  readonly clock: Clock;
  readonly random: (bytes: number) => Buffer;
  readonly logger: Log;
}

export interface KeeperParts extends Machine {
  readonly adoptions: Adoptions;
  readonly config: Config;
  readonly egress: EgressTunnels;
  readonly executor: Executor;
  readonly fence: EpochFence;
  readonly gate: Gate;
  readonly keys: JwksFile;
  readonly link: RunnerLink;
  readonly log: EventLog;
  readonly metrics: KeeperMetrics;
  readonly network: NetworkProbe;
  readonly patches: PatchJournal;
  readonly quota: Quota;
  readonly redaction: Redaction;
  readonly reserve: StoreReserve;
  readonly room: OutputRoom;
  readonly sessions: Sessions;
  readonly snapshots: Snapshots;
  readonly spans: SpanRing;
  readonly spills: SpillStore;
  readonly staged: StagedFiles;
  readonly syntax: SyntaxParser;
  readonly transfers: Transfers;
}

/** The keeper's parts and the state that spans them. */
export class Keeper {
  readonly parts: KeeperParts;

  constructor(parts: KeeperParts) {
    this.parts = parts;
  }

  get roots(): readonly string[] {
    return this.parts.config.roots.map((root) => root.path);
  }

  /** Reason that no command may run; null when one may. */
  get notReady(): NotReady | null {
    return notReady(this.parts);
  }

  get info(): KeeperInfo {
    const { config, executor, fence, link, log, network, snapshots } = this.parts;
    const no = this.notReady;
    const { connected, instance, connections, info } = link.state;
    const records = snapshots.list();
    return {
      version: config.version,
      pod: config.pod,
      epoch: fence.current,
      ready: no === null,
      reason: no?.reason ?? null,
      roots: config.roots,
      tools: { connected, instance, connections },
      isolation: info === null ? null : isolationOf(info, config.runtimeClass),
      network: network.info,
      snapshots: {
        engine: chooseEngine(config).engine,
        count: records.length,
        latest: records.at(-1)?.id ?? null,
      },
      audit: { root: log.head.hash, records: log.head.seq },
      running: executor.running,
    };
  }

  /** @throws KeeperError `AF_UNAUTHENTICATED`, `AF_FORBIDDEN` */
  async authenticate(header: string | undefined): Promise<void> {
    const { config, keys, clock, metrics } = this.parts;
    await authenticate(header, {
      issuer: config.auth.issuer,
      audience: config.pod.uid,
      subjects: config.auth.subjects,
      getKey: keys.getKey,
      clock,
      onRefused: (reason) => metrics.authRefusals.inc({ reason }),
    });
  }

  /** Admits a changing request; ends what an older assignment left running. @throws KeeperError */
  async admit(epochHeader: string | undefined): Promise<number> {
    const { egress, executor, fence, log, sessions, transfers } = this.parts;
    log.assertWritable();
    return fence.admit(epochHeader, async (from, to) => {
      log.append('EpochRaised', { from, to });
      egress.supersede(to);
      await transfers.supersede(to);
      await executor.supersede(to);
      await sessions.closeAll('Superseded', to);
    });
  }
}

/**
 * Connects the link to the log, the gate, the executor and the sessions. A runner dials only when no process of a
 * command is left in its container, so the gate is shut from the loss of one to the next, however long that takes.
 */
export function linkEvents({ log, gate, executor, sessions, config }: LinkedParts): LinkEvents {
  return {
    connected: (instance, info) => {
      log.append('ToolsConnected', { instance, version: info.version, isolation: isolationOf(info, config.runtimeClass) });
      gate.shut(null);
    },
    lost: (instance, why) => {
      gate.shut(notProved);
      log.append('ToolsLost', { instance, why });
      executor.toolsLost();
      sessions.toolsLost();
    },
    message: (message) => {
      if (message.t !== 'opened' && message.t !== 'closed') return executor.receive(message);
      sessions.receive(message);
      return undefined;
    },
  };
}

/** Reason that the gate is shut. */
export const notProved = 'the runner was lost, and none has connected since: commands may still run';

type LinkedParts = Pick<KeeperParts, 'log' | 'gate' | 'executor' | 'sessions' | 'config'>;

/** Label of the metric for how a command ended. */
export function resultOf(facts: EndFacts): string {
  if (facts.interrupted !== undefined) return 'interrupted';
  if (facts.error !== undefined) return 'error';
  if (facts.timedOut) return 'timeout';
  if (facts.killed !== null) return 'killed';
  return facts.exitCode === 0 ? 'ok' : 'failed';
}
