// hack, cluster: command line of the local cluster: up, down, status, kubeconfig. Of other folders imports hack/cache only.
import { parseArgs } from 'node:util';
import { ClusterError, down, kubeconfigPath, renderStatus, status, up, verifyCluster, type Tier } from './index.ts';

const usage = `usage: cluster up [--tier control-plane|node] [--context NAME] [--kwok] [--gvisor] [--csi] [--dra] [--verify]
       cluster down [--purge]
       cluster status [--json]
       cluster kubeconfig
`;

const options = {
  tier: { type: 'string' },
  context: { type: 'string' },
  kwok: { type: 'boolean' },
  gvisor: { type: 'boolean' },
  csi: { type: 'boolean' },
  dra: { type: 'boolean' },
  verify: { type: 'boolean' },
  purge: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

function asTier(text: string | undefined): Tier | undefined {
  if (text === undefined || text === 'node' || text === 'control-plane') return text;
  throw new ClusterError('AF_USAGE', { what: `there is no tier "${text}"`, where: '--tier', cure: 'Say control-plane or node' });
}

type Values = ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>['values'];

async function bringUp(values: Values): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  const cluster = await up({
    tier: asTier(values.tier),
    context: values.context,
    kwok: values.kwok,
    gvisor: values.gvisor,
    csi: values.csi,
    dra: values.dra,
    signal: interrupted.signal,
  });
  if (values.verify) {
    await verifyCluster(cluster);
    process.stderr.write('verified: DNS, NetworkPolicy and user namespaces work\n');
  }
  process.stdout.write(`${cluster.startedByThisCall ? 'up' : 'already up'}; export KUBECONFIG=${cluster.kubeconfig}\n`);
}

const commands: Readonly<Record<string, (values: Values) => Promise<void>>> = {
  up: bringUp,
  down: (values) => down({ purge: values.purge }),
  async status(values) {
    const now = await status();
    process.stdout.write(values.json ? `${JSON.stringify(now, null, 2)}\n` : renderStatus(now));
    if (now.state !== 'up') process.exitCode = 1;
  },
  async kubeconfig() {
    process.stdout.write(`${await kubeconfigPath()}\n`);
  },
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const command = positionals.length === 1 ? commands[positionals[0] ?? ''] : undefined;
  if (command) return command(values);
  process.stderr.write(usage);
  process.exitCode = 2;
}

try {
  await main();
} catch (error) {
  const isUsage = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') === true;
  process.stderr.write(error instanceof ClusterError || isUsage ? `${(error as Error).message}\n` : `${String((error as Error).stack)}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
