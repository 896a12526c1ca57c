import { existsSync } from 'node:fs';
import { readFile, readdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheRoot } from '../../cache/index.ts';
import { areBuilt, goFacts, type GoFacts } from '../build/binaries.ts';
import { familyDir, type FamilyName } from '../build/families.ts';
import type { Tier } from '../base/cluster.ts';
import { readBaseline } from '../host/baseline.ts';
import type { Layout } from '../base/layout.ts';
import { findMissingPackages, packagesFor } from './packages.ts';
import { neededSpace, type PreflightFacts } from './preflight.ts';
import { kubeletPort, listeners, socketInodes, socketOwner, type Listener } from '../base/ports.ts';

/** The facts for the preflight, also used by later steps. */
export interface Survey {
  readonly facts: PreflightFacts;
  readonly go: GoFacts | undefined;
  /** Ports with other listeners. */
  readonly takenPorts: ReadonlySet<number>;
}

/** The requested parts of a cluster. */
interface WantedParts {
  readonly tier: Tier;
  readonly kwok: boolean;
  readonly gvisor: boolean;
  readonly csi: boolean;
  readonly dra: boolean;
}

/** Returns the families that a tier needs. The cluster itself does not need helm, but every installation on it does. */
export function familiesFor({ tier, kwok, gvisor, csi, dra }: WantedParts): FamilyName[] {
  const node: FamilyName[] = ['containerd', 'runc', 'coredns', 'kube-router'];
  return [
    'kubernetes',
    'helm',
    ...(tier === 'node' ? node : []),
    ...(kwok ? (['kwok'] as const) : []),
    ...(gvisor ? (['gvisor'] as const) : []),
    ...(csi ? (['csi'] as const) : []),
    ...(dra ? (['dra'] as const) : []),
  ];
}

async function freeBytes(path: string): Promise<number> {
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  const { bavail, bsize } = await statfs(existing);
  return bavail * bsize;
}

async function foreignKubelet(layout: Layout): Promise<boolean> {
  const entries = await readdir(layout.kubeletRoot).catch(() => []);
  if (entries.length === 0) return false;
  return !(await readBaseline(layout))?.absentPaths.includes(layout.kubeletRoot);
}

async function foreignListeners(ourPids: readonly number[]): Promise<Listener[]> {
  const [all, ...inodes] = await Promise.all([listeners(), ...ourPids.map(socketInodes)]);
  const ours = new Set(inodes.flat());
  return all.filter(({ inode }) => !ours.has(inode));
}

/** Inspects the machine without changes. `ourPids` are running daemons of this cluster. */
export async function survey(layout: Layout, wanted: WantedParts, ourPids: readonly number[]): Promise<Survey> {
  const [go, osRelease, missingPackages, others, foreignKubeletDir, goMod, freeCache, freeState] = await Promise.all([
    goFacts(),
    readFile('/etc/os-release', 'utf8').catch(() => ''),
    findMissingPackages(packagesFor(wanted.tier)),
    foreignListeners(ourPids),
    foreignKubelet(layout),
    readFile(join(familyDir('kubernetes'), 'go.mod'), 'utf8'),
    freeBytes(cacheRoot()),
    freeBytes(layout.state),
  ]);
  const isCold = go !== undefined && !(await areBuilt(familiesFor(wanted), go));
  const kubeletListener = others.find(({ port }) => port === kubeletPort);
  const facts: PreflightFacts = {
    tier: wanted.tier,
    platform: process.platform,
    arch: process.arch,
    uid: process.getuid?.() ?? 0,
    osRelease,
    missingPackages,
    goVersion: go?.GOVERSION,
    goNeeded: /^go (\S+)/m.exec(goMod)?.[1] ?? '0',
    goMayUpgrade: go !== undefined && go.GOTOOLCHAIN !== 'local',
    kubeletPortOwner: kubeletListener && (await socketOwner(kubeletListener.inode)),
    foreignKubeletDir,
    disks: [
      { path: cacheRoot(), freeBytes: freeCache, neededBytes: isCold ? neededSpace.coldBuild : 0 },
      { path: layout.state, freeBytes: freeState, neededBytes: ourPids.length > 0 ? 0 : neededSpace.state },
    ],
  };
  return { facts, go, takenPorts: new Set(others.map(({ port }) => port)) };
}
