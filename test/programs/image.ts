// The image of the tools with agent programs in it, installed from their public packages on this machine.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { cached, hashInputs } from '../../hack/cache/index.ts';
import type { Cluster } from '../../hack/cluster/index.ts';
import { buildImages } from '../../hack/images/index.ts';
import { load } from 'js-yaml';
import type { Step } from './model.ts';

export const programNames = ['mini-swe-agent', 'gptme', 'codex', 'claude-code'] as const;
export type ProgramName = (typeof programNames)[number];

/** Inputs of an example for its program. */
export interface Example {
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly install: { readonly command: readonly string[] };
  readonly api: string;
}

/** The program of a pool below `examples/harness`, as a user applies it. */
export async function exampleOf(name: ProgramName): Promise<Example> {
  const text = await readFile(join(import.meta.dirname, `../../examples/harness/${name}.yaml`), 'utf8');
  const { spec } = load(text) as { spec: { experts: readonly { engine: { harness: Example } }[] } };
  const harness = spec.experts[0]?.engine.harness;
  if (harness === undefined) throw new Error(`examples/harness/${name}.yaml holds no agent program`);
  return harness;
}

/** The program's task: a function with a bug, and its test. */
export const broken = 'def add(a, b):\n    return a - b\n';
export const files = {
  'calc.py': broken,
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
} as const;

export const repository = { files: Object.entries(files).map(([path, content]) => ({ path, content })) };

const look: Step = { command: 'cat calc.py' };
const repair: Step = { command: "sed -i 's/a - b/a + b/' calc.py" };

/** Solves it. */
export const solve: readonly Step[] = [look, repair, { command: 'python3 -m unittest' }];
/** Leaves it wrong, with a file more. */
export const spoil: readonly Step[] = [look, { command: "sed -i 's/a - b/a * b/' calc.py; touch extra.py" }];
/** Is held after it wrote a file; a run on a tree that still has that file leaves another one, which no run takes away. */
export const heldInTheMiddle: readonly Step[] = [
  { command: 'if test -e half.txt; then touch half-left.txt; fi; touch half.txt' },
  { ...look, heldSeconds: 60 },
  // Long enough for the runner to see it.
  { command: "rm half.txt; sed -i 's/a - b/a + b/' calc.py; sleep 1" },
];

/** Folder of the programs in the image: each in a separate folder, with a link or a start script in `bin`. */
export const programs = '/opt/programs';

/** The Python of the tools image: compiled packages are of one version. */
const python = '3.13';
const pip = ['-m', 'pip', 'install', '--quiet', '--only-binary=:all:', `--python-version=${python}`];

const requirements = join(import.meta.dirname, '../../hack/eval/peers/mini-swe-agent.txt');
/** Dependencies that mini-swe-agent needs for its benchmarks only. */
const unused = /^(?:pyarrow|pandas|numpy|datasets|boto3|botocore|s3transfer)==/;

type Install = (folder: string, pack: string) => Promise<{ readonly bin: string; readonly start: string } | { readonly bin: string }>;

const byNpm =
  (bin: string): Install =>
  async (folder, pack) => {
    await execa('npm', ['install', '--global', '--prefix', folder, '--no-audit', '--no-fund', pack]);
    return { bin };
  };

const installs: Readonly<Record<ProgramName, Install>> = {
  'mini-swe-agent': async (folder) => {
    const needed = (await readFile(requirements, 'utf8')).split('\n').filter((line) => line !== '' && !unused.test(line));
    await execa('python3', [...pip, '--no-deps', `--target=${folder}`, ...needed]);
    return { bin: 'mini', start: 'minisweagent.run.mini' };
  },
  gptme: async (folder, pack) => {
    await execa('python3', [...pip, `--target=${folder}`, pack]);
    return { bin: 'gptme', start: 'gptme' };
  },
  codex: byNpm('codex'),
  'claude-code': byNpm('claude'),
};

/** Installs the programs into the cache, once, and imports an image with them into the node. */
export async function imageWithPrograms(cluster: Cluster, names: readonly ProgramName[]): Promise<string> {
  const [tools] = await buildImages(['tools']);
  const layers: string[] = [];
  for (const name of names) {
    const pack = (await exampleOf(name)).install.command.at(-1) ?? '';
    const key = await hashInputs({ text: [name, pack], paths: [import.meta.filename, requirements] });
    const { dir } = await cached('programs', key, (place) => layer(place, name, pack));
    layers.push(join(dir, 'layer.tar'));
  }
  return importOnto(cluster, tools?.archive ?? '', layers);
}

async function layer(place: string, name: ProgramName, pack: string): Promise<void> {
  const root = join(place, 'root');
  const bins = join(root, programs, 'bin');
  await mkdir(bins, { recursive: true });
  const made = await installs[name](join(root, programs, name), pack);
  const script = 'start' in made ? `#!/bin/sh\nPYTHONPATH=${programs}/${name} exec python3 -m ${made.start} "$@"\n` : null;
  if (script === null) await symlink(`../${name}/bin/${made.bin}`, join(bins, made.bin));
  else await writeFile(join(bins, made.bin), script, { mode: 0o755 });
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--sort=name'];
  await execa('tar', ['-C', root, ...owner, '-cf', join(place, 'layer.tar'), 'opt']);
  await rm(root, { recursive: true });
}

interface ImageText {
  readonly rootfs: { readonly type: string; readonly diff_ids: readonly string[] };
  readonly history?: unknown;
}

/** Adds layers to a docker-archive and imports it under a new name. */
async function importOnto(cluster: Cluster, archive: string, added: readonly string[]): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'programs-image-'));
  try {
    await execa('tar', ['-C', place, '-xf', archive]);
    const [base] = JSON.parse(await readFile(join(place, 'manifest.json'), 'utf8')) as { Config: string; Layers: string[] }[];
    if (base === undefined) throw new Error(`${archive} holds no image`);
    const { history: _, ...config } = JSON.parse(await readFile(join(place, base.Config), 'utf8')) as ImageText;
    const own: string[] = [];
    const diffs = [...config.rootfs.diff_ids];
    for (const [index, one] of added.entries()) {
      diffs.push(`sha256:${(await execa('sha256sum', [one])).stdout.slice(0, 64)}`);
      own.push(`programs-${index}.tar`);
      await symlink(one, join(place, `programs-${index}.tar`));
    }
    const text = JSON.stringify({ ...config, rootfs: { type: 'layers', diff_ids: diffs } });
    const name = createHash('sha256').update(text).digest('hex');
    const ref = `localhost/agentfleet/programs:${name.slice(0, 16)}`;
    await writeFile(join(place, `${name}.json`), text);
    const manifest = [{ Config: `${name}.json`, RepoTags: [ref], Layers: [...base.Layers, ...own] }];
    await writeFile(join(place, 'manifest.json'), JSON.stringify(manifest));
    const whole = ['manifest.json', `${name}.json`, ...new Set(base.Layers), ...own];
    await execa('tar', ['-C', place, '--dereference', '-cf', join(place, 'image.tar'), ...whole]);
    await cluster.importImage(join(place, 'image.tar'));
    return ref;
  } finally {
    await rm(place, { recursive: true });
  }
}
