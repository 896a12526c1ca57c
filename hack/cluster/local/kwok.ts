import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { moduleDir } from '../build/binaries.ts';
import { kwok } from '../daemons/control-plane.ts';
import { ensure, type Start } from './control-plane.ts';

const definition = 'customresourcedefinition/stages.kwok.x-k8s.io';

async function install(start: Start): Promise<void> {
  const { layout, binaries } = start.around;
  const mark = join(layout.config, 'kwok.installed');
  if ((await readFile(mark, 'utf8').catch(() => '')) === binaries.path('kwok')) return;
  const kustomize = join(await moduleDir('kwok'), 'kustomize');
  const kubectl = async (...args: string[]): Promise<unknown> =>
    execa(binaries.path('kubectl'), ['--kubeconfig', layout.kubeconfig, ...args]);
  await kubectl('apply', '--server-side', '-f', join(kustomize, 'crd', 'bases', 'kwok.x-k8s.io_stages.yaml'));
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', definition);
  await kubectl('apply', '--server-side', '-k', join(kustomize, 'stage', 'fast'));
  await writeFile(mark, binaries.path('kwok'));
}

/** Installs kwok's definitions and fast stages from its module once, and starts it unless it runs. */
export async function startKwok(start: Start): Promise<void> {
  await install(start);
  await ensure(start, kwok(start.around));
}
