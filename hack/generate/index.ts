/** Generated files, most of them from the protocol: their list, writing them, and finding stale ones. May import any package. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { chartFiles } from './chart.ts';
import { cliPage } from './cli.ts';
import { clientTypes } from './clientTypes.ts';
import { apiFiles, keeperSchemas } from './crds.ts';
import { keeperErrorsPage, processErrorsPage, metricsPage, reasonsPage } from './registries.ts';
import { recordedChat, featureFiles, tracerFiles } from './tracer.ts';
import { runbooks } from './runbooks/index.ts';
import { toolsPage } from './tools.ts';

/** Path from the repository's root → content. */
function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ...apiFiles(),
    ...chartFiles(),
    ['client/src/types.ts', clientTypes()],
    ['docs/reference/cli.md', cliPage()],
    ['docs/reference/keeper-errors.md', keeperErrorsPage()],
    ['docs/reference/metrics.md', metricsPage()],
    ['docs/reference/process-errors.md', processErrorsPage()],
    ['docs/reference/reasons.md', reasonsPage()],
    ['docs/reference/tools.md', toolsPage()],
    ...runbooks(),
    ['docs/reference/keeper-schemas.json', keeperSchemas()],
    ['examples/recorded-chat.yaml', recordedChat()],
    ['agent-image/src/coverage/program.json', tracerFiles()],
    ['agent-image/src/features/program.json', featureFiles()],
  ]);
}

/** Writes all generated files and returns the paths whose content changed. */
export async function generate(root: string): Promise<readonly string[]> {
  const stale = await drift(root);
  for (const [path, content] of generatedFiles()) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return stale;
}

/** Returns paths of generated files that are missing or differ from their sources. */
export async function drift(root: string): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const [path, content] of generatedFiles()) {
    const present = await readFile(join(root, path), 'utf8').catch(() => undefined);
    if (present !== content) stale.push(path);
  }
  return stale;
}
