// Runs inside a pod in the worker's place: drives one sandbox through its keeper and proves the undo.
// Reads the keeper's address from its first argument and the token that the kubelet keeps in a file.
import { readFile } from 'node:fs/promises';
import { KeeperClient, type ExecResult, newExecId } from '@agentfleet/keeper/client';
import { Proofs } from '../proofs/proofs.ts';
import type { SnapshotRecord, AuditRecord } from '@agentfleet/protocol/keeper';
import { buffer } from 'node:stream/consumers';
import { createHash } from 'node:crypto';
import { canonicalJson } from '@agentfleet/protocol/text';

/** The proofs about one sandbox, and how to reach it. */
export class Story extends Proofs {
  readonly client: KeeperClient;
  readonly baseUrl: string;

  constructor(client: KeeperClient, baseUrl: string) {
    super();
    this.client = client;
    this.baseUrl = baseUrl;
  }

  /** Runs a shell command in the user's container. */
  shell(command: string, stdin?: string): Promise<ExecResult> {
    return this.client.run({ execId: newExecId(), tool: 'Shell', command, timeoutSeconds: 60, ...(stdin === undefined ? {} : { stdin }) });
  }
}

/** A program that tries to connect and prints the outcome. */
const attempt = (host: string, port: number): string =>
  `import socket
s = socket.socket(); s.settimeout(2)
try: s.connect(("${host}", ${port})); print("connected")
except OSError as e: print("refused:", e)`;

/** Chapter 1: who may call, and what the sandbox keeps from the code inside it. */
async function lookAround(story: Story): Promise<void> {
  story.chapter('1  The sandbox');
  const info = await story.client.info();
  story.fact(`pod ${info.pod.namespace}/${info.pod.name}, isolation ${info.isolation?.level}, Landlock ABI ${info.isolation?.landlockABI}`);
  story.prove('the network wall holds, seen from inside', info.network.state === 'Enforced', targets(info.network.targets));
  const anonymous = await fetch(new URL('/v1/info', story.baseUrl));
  story.prove('without a token the keeper answers 401', anonymous.status === 401);
  const target = info.network.targets[0]?.address ?? '192.0.2.1:443';
  const [host, port] = splitAddress(target);
  const out = await story.shell('python3 -', attempt(host, Number(port)));
  story.prove('user code cannot reach the API server', out.stdout.startsWith('refused'), out.stdout.trim());
  const secrets = await story.shell('cat /var/run/secrets/kubernetes.io/serviceaccount/token; ls /var/lib/agentfleet; cat /proc/1/environ');
  story.prove('no Kubernetes token, no store, no environment of the runner', secrets.stdout === '', `${lines(secrets.stderr)} refusals`);
  await story.shell('kill -9 -1; kill -9 1');
  const after = await story.client.info();
  story.prove('kill -9 at everything leaves runner and keeper alone', after.tools.instance === info.tools.instance);
}

function targets(list: readonly { name: string; error: string | null }[]): string {
  return list.map((target) => `${target.name} ${target.error ?? 'open'}`).join(', ');
}

function splitAddress(address: string): readonly [string, string] {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at), address.slice(at + 1)];
}

function lines(text: string): number {
  return text.trim().split('\n').length;
}

const broken = `def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle] + ordered[middle + 1]) / 2
`;

const tests = `import unittest
from stats import median

class Median(unittest.TestCase):
    def test_odd(self): self.assertEqual(median([3, 1, 2]), 2)
    def test_even(self): self.assertEqual(median([4, 1, 3, 2]), 2.5)

unittest.main()
`;

/** Snapshots before and after the repair. */
interface Repaired {
  readonly initial: SnapshotRecord;
  readonly fixed: SnapshotRecord;
}

/** Chapter 2: a small repository with a failing test is changed until the test passes. */
export async function repair(story: Story): Promise<Repaired> {
  story.chapter('2  Work: a failing test, a change, a passing test');
  await story.client.writeFile('/workspace/stats.py', broken);
  await story.client.writeFile('/workspace/test_stats.py', tests);
  await story.shell('cd /workspace && git init -q && git add -A && git -c user.name=demo -c user.email=demo@example.org commit -qm start');
  const initial = await story.client.takeSnapshot('initial');
  story.fact(`snapshot ${initial.id}: ${initial.entries} entries in ${initial.tookMs.toFixed(0)} ms, ${short(initial.manifestDigest)}`);
  const before = await story.shell('python3 test_stats.py');
  story.prove('the test fails at first', before.end.exitCode !== 0, lastLine(before.stderr));
  await story.client.writeFile('/workspace/stats.py', broken.replace('[middle + 1]', '[middle - 1]'));
  const after = await story.shell('python3 test_stats.py');
  story.prove('after the change it passes', after.end.exitCode === 0, lastLine(after.stderr));
  const fixed = await story.client.takeSnapshot('fixed');
  const { unified } = await story.client.diff(initial.id, fixed.id);
  for (const line of unified.split('\n').filter((text) => /^[-+] /.test(text))) story.fact(line);
  return { initial, fixed };
}

export function short(digest: string): string {
  return digest.slice(0, 19);
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}

const havoc =
  'cd /workspace && rm -rf .git stats.py && mkdir stats.py && chmod 000 test_stats.py && ln -s /etc/passwd link && ' +
  'echo "rm -rf /" > run.sh && chmod +x run.sh && mkdir -p deep/er && head -c 5000000 /dev/urandom > deep/er/junk && echo PATH= > ~/.profile';

/** Chapter 3: everything is wrecked, then restored and proved equal by the manifest hash. */
async function breakThings(story: Story, good: SnapshotRecord): Promise<void> {
  story.chapter('3  Damage, and a restore that is proved');
  await story.shell(havoc);
  const { entries } = await story.client.diff(good.id);
  story.fact(`${entries.length} paths differ: ${count(entries.map((entry) => entry.op))}`);
  const report = await story.client.restore(good.id);
  const seen = `${report.created} created, ${report.modified} modified, ${report.deleted} deleted in ${report.tookMs.toFixed(0)} ms`;
  story.prove(`restored to ${good.id}, manifest hash equal`, report.verified && report.manifestDigest === good.manifestDigest, seen);
  story.fact(`expected ${short(report.expectedDigest)}, found ${short(report.manifestDigest)}`);
  const check = await story.shell('python3 test_stats.py');
  story.prove('the test passes again', check.end.exitCode === 0);
}

function count(ops: readonly string[]): string {
  const names: Record<string, string> = { A: 'added', M: 'modified', D: 'deleted', T: 'changed type' };
  return Object.entries(names)
    .map(([op, name]) => `${ops.filter((seen) => seen === op).length} ${name}`)
    .join(', ');
}

/** Chapter 4: the revert script undoes the work in plain POSIX sh, without the keeper's help. */
export async function revert(story: Story, { initial, fixed }: Repaired): Promise<void> {
  story.chapter('4  The revert script');
  const bundle = await buffer(await story.client.revertBundle(initial.id, fixed.id));
  const unpack = 'mkdir -p /tmp/revert && base64 -d | tar -x -C /tmp/revert && cd /tmp/revert';
  const dry = await story.shell(`${unpack} && sh revert.sh --dry-run`, bundle.toString('base64'));
  for (const line of dry.stdout.trim().split('\n').slice(0, 6)) story.fact(line);
  const real = await story.shell(`${unpack} && sh revert.sh`, bundle.toString('base64'));
  story.prove('the script ends with success', real.end.exitCode === 0, real.stderr.trim());
  const now = await story.client.takeSnapshot('reverted');
  story.prove(`the tree is ${initial.id} again, manifest hash equal`, now.manifestDigest === initial.manifestDigest);
}

/** Chapter 5: the keeper's log is checked by the keeper, and again here from the records alone. */
async function auditTrail(story: Story): Promise<void> {
  story.chapter('5  The audit trail');
  const records: AuditRecord[] = [];
  for await (const record of story.client.events()) records.push(record);
  const report = await story.client.audit();
  story.prove('the keeper read its log back and the chain holds', report.ok, `${report.records} records, root ${report.root.slice(0, 12)}`);
  story.prove('the same chain, computed again outside', chainHolds(records));
  const altered = records.map((record) =>
    record.type === 'ExecEnded' ? { ...record, body: { ...record.body, exitCode: 0, forged: true } } : record,
  );
  story.prove('an altered record breaks it', !chainHolds(altered));
}

function chainHolds(records: readonly AuditRecord[]): boolean {
  let prev = '0'.repeat(64);
  for (const [index, { hash, prev: before, ...rest }] of records.entries()) {
    const computed = createHash('sha256')
      .update(`${prev}\n${canonicalJson(rest)}`)
      .digest('hex');
    if (rest.seq !== index + 1 || before !== prev || computed !== hash) return false;
    prev = hash;
  }
  return records.length > 0;
}

const [baseUrl = ''] = process.argv.slice(2);
const token = (): Promise<string> => readFile('/var/run/agentfleet/token', 'utf8').then((text) => text.trim());
const story = new Story(new KeeperClient({ baseUrl, token, epoch: 1 }), baseUrl);

await lookAround(story);
const repaired = await repair(story);
await breakThings(story, repaired.fixed);
await revert(story, repaired);
await auditTrail(story);
await story.client.close();
const holds = story.sum();
process.exit(holds ? 0 : 1);
