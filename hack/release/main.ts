// hack, release: command line of a release. May import any package.
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { resolve } from 'node:path';
import { readAllowed, type GateResult } from './gates.ts';
import { Registry, registryPrograms } from './registry.ts';
import { buildReleased, pushArchitecture, release, sourceGates, sourceOf } from './release.ts';

const usage = `usage: npm run release -- --registry HOST[/PATH] --version VERSION
  --out FOLDER       where documents go (default: release)
  --plain-http       a registry without TLS, on this machine
  --images-only      push the images of this machine's architecture and end: another machine joins them
  --gates-only       judge the sources and end; nothing is built or pushed
  --unchecked        go on although a gate could not look (no gate that failed is passed over)
  --builder URI      who builds, for the provenance (default: urn:agentfleet:builder:local)`;

const options = {
  registry: { type: 'string' },
  version: { type: 'string' },
  out: { type: 'string', default: 'release' },
  builder: { type: 'string', default: 'urn:agentfleet:builder:local' },
  'plain-http': { type: 'boolean', default: false },
  'images-only': { type: 'boolean', default: false },
  'gates-only': { type: 'boolean', default: false },
  unchecked: { type: 'boolean', default: false },
} as const;

/** Prints the results of the gates. Returns whether the release may continue. */
function report(results: readonly GateResult[], unchecked: boolean): boolean {
  for (const { gate, outcome, lines } of results)
    console.log([`${outcome.padEnd(7)} ${gate}`, ...lines.map((line) => `          ${line}`)].join('\n'));
  return results.every(({ outcome }) => outcome === 'Passed' || (outcome === 'NotRun' && unchecked));
}

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({ args: [...args], options });
  const { registry: address, version, unchecked, builder, out } = values;
  if (version === undefined || (address === undefined && !values['gates-only'])) {
    console.error(usage);
    return 2;
  }
  const allowed = await readAllowed();
  const today = new Date().toISOString().slice(0, 10);
  if (!report(await sourceGates(version, allowed, today), unchecked)) return 1;
  if (address === undefined || values['gates-only']) return 0;
  const registry = new Registry({ programs: await registryPrograms(signal), address, plainHttp: values['plain-http'], signal });
  const images = await buildReleased(signal);
  const source = await sourceOf(version);
  if (values['images-only']) {
    for (const { repository, digest } of await pushArchitecture(registry, images, source)) console.log(`${repository}@${digest}`);
    return 0;
  }
  const released = await release({ version, registry, images, source, allowed, out: resolve(out), builder });
  for (const { name, repository, digest } of [...released.images, ...released.charts])
    console.log(`${name.padEnd(10)} ${repository}@${digest}`);
  // In a process: the image builder imports the documents of a release.
  const { stdout } = await execa(process.execPath, [resolve(import.meta.dirname, '../cli.ts'), '--release', resolve(out), version]);
  const packages = stdout.split('\n');
  console.log(`\nDocuments: ${resolve(out)}. To sign (cosign):\n${released.commands.map((line) => `  ${line}`).join('\n')}`);
  console.log(`\nTo install:\n  kubectl create namespace agentfleet-system
  helm install agentfleet oci://${address}/charts/agentfleet --version ${version} --namespace agentfleet-system`);
  console.log(`\nPackages for npm, of fleet and of the typed client:\n${packages.map((name) => `  ${resolve(out, name)}`).join('\n')}`);
  return report([released.licences], unchecked) ? 0 : 1;
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
try {
  process.exitCode = await main(process.argv.slice(2), stop.signal);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
