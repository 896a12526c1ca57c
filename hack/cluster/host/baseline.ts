import { existsSync } from 'node:fs';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { execa } from 'execa';
import { bootId } from '../daemons/process.ts';
import type { Layout } from '../base/layout.ts';
import { holders, mounts, shareMounts, unshareMounts, type Mount } from './mounts.ts';
import { netfilterState, type NetfilterState } from './netfilter.ts';

/** State of the host before the first start, so that `down` can restore it. */
interface HostBaseline {
  readonly bootId: string;
  readonly sysctls: Readonly<Record<string, string>>;
  /** Mount points that hold our folders and did not propagate. */
  readonly privateMounts: readonly string[];
  readonly netfilter: NetfilterState;
  /** Fixed paths of the node's programs that were not there, or empty. */
  readonly absentPaths: readonly string[];
}

/** Settings that we need, as lower bounds where more is fine too. */
const needed: Readonly<Record<string, { value: number; atLeast: boolean }>> = {
  'net.ipv4.ip_forward': { value: 1, atLeast: false },
  'net.bridge.bridge-nf-call-iptables': { value: 1, atLeast: false },
  'fs.inotify.max_user_instances': { value: 1024, atLeast: true },
  'fs.inotify.max_user_watches': { value: 524_288, atLeast: true },
  // Zombies of a fork bomb in a pod may outnumber the pod's limit, and with the old default of 32768 they starve the host.
  'kernel.pid_max': { value: 4_194_304, atLeast: true },
};

/** Settings that the kubelet and kube-router change by themselves. */
const changedByOthers = [
  'kernel.panic',
  'kernel.panic_on_oops',
  'kernel.keys.root_maxbytes',
  'kernel.keys.root_maxkeys',
  'net.bridge.bridge-nf-call-ip6tables',
  'net.ipv4.conf.all.route_localnet',
  'vm.overcommit_memory',
  'vm.panic_on_oom',
];

/** Paths that the node's programs use whatever their settings. */
const fixedPaths = ['/var/lib/kubelet', '/var/lib/cni', '/var/log/containers', '/run/containerd', '/etc/machine-id'];

/** Returns the needed settings whose present value does not suffice. */
export function sysctlChanges(present: Readonly<Record<string, string>>): Record<string, string> {
  const changes = Object.entries(needed).filter(([name, { value, atLeast }]) => {
    const now = Number(present[name]);
    return atLeast ? !(now >= value) : now !== value;
  });
  return Object.fromEntries(changes.map(([name, { value }]) => [name, String(value)]));
}

function sysctlPath(name: string): string {
  return `/proc/sys/${name.replaceAll('.', '/')}`;
}

async function readSysctls(names: readonly string[]): Promise<Record<string, string>> {
  const read = names.map(async (name) => [name, await readFile(sysctlPath(name), 'utf8').catch(() => undefined)] as const);
  const known = (await Promise.all(read)).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, value.trim()]));
}

async function isAbsent(path: string): Promise<boolean> {
  if (!existsSync(path)) return true;
  const entries = await readdir(path).catch(() => undefined);
  return entries === undefined ? (await readFile(path, 'utf8').catch(() => 'x')) === '' : entries.length === 0;
}

/** The recorded baseline, if there is one. */
export async function readBaseline(layout: Layout): Promise<HostBaseline | undefined> {
  try {
    return JSON.parse(await readFile(layout.hostFile, 'utf8')) as HostBaseline;
  } catch {
    return undefined;
  }
}

async function heldBy(layout: Layout): Promise<Mount[]> {
  return holders(await mounts(), ['/', layout.kubeletRoot, layout.state, layout.run]);
}

async function observe(layout: Layout, boot: string, earlier: HostBaseline | undefined): Promise<HostBaseline> {
  const absent = await Promise.all(fixedPaths.map(async (path) => ((await isAbsent(path)) ? [path] : [])));
  return {
    bootId: boot,
    sysctls: await readSysctls([...Object.keys(needed), ...changedByOthers]),
    privateMounts: (await heldBy(layout)).filter(({ shared }) => !shared).map(({ path }) => path),
    netfilter: await netfilterState(),
    // Files outlive a reboot: a path that an earlier boot found absent is ours although it exists now.
    absentPaths: [...new Set([...absent.flat(), ...(earlier?.absentPaths ?? [])])],
  };
}

/** Records the host's state once per boot, then changes the settings that a node needs. A second call changes nothing. */
export async function prepareHost(layout: Layout): Promise<void> {
  const boot = await bootId();
  const earlier = await readBaseline(layout);
  // Without the module the bridge's packets never meet iptables; where it is built in, modprobe may be missing.
  if (!existsSync(sysctlPath('net.bridge.bridge-nf-call-iptables'))) await execa('modprobe', ['br_netfilter'], { reject: false });
  const baseline = earlier?.bootId === boot ? earlier : await observe(layout, boot, earlier);
  const present = await readSysctls(Object.keys(needed));
  // The recorded state takes precedence: it was read before the first change. Changes of a newer version are added.
  const complete = { ...baseline, sysctls: { ...present, ...baseline.sysctls } };
  await writeFile(layout.hostFile, JSON.stringify(complete), { mode: 0o600 });
  for (const [name, value] of Object.entries(sysctlChanges(present))) await writeFile(sysctlPath(name), value);
  await shareMounts((await heldBy(layout)).filter(({ shared }) => !shared).map(({ path }) => path));
  if (await isAbsent('/etc/machine-id')) await writeFile('/etc/machine-id', `${randomUUID().replaceAll('-', '')}\n`);
}

/** Puts sysctls and mount propagation back (unless the host has rebooted since) and removes the fixed paths that were absent. */
export async function restoreHost(baseline: HostBaseline): Promise<void> {
  if (baseline.bootId === (await bootId())) {
    const now = await readSysctls(Object.keys(baseline.sysctls));
    for (const [name, value] of Object.entries(baseline.sysctls)) {
      if (now[name] !== undefined && now[name] !== value) await writeFile(sysctlPath(name), value);
    }
    await unshareMounts(baseline.privateMounts);
  }
  for (const path of baseline.absentPaths) await rm(path, { recursive: true, force: true });
}
