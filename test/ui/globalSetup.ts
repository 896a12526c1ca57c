import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import type { TestProject } from 'vitest/node';
import { findMissingPackages, installPackages } from '../../hack/cluster/index.ts';
import { browserPackages } from './packages.ts';
import contract from '../contract/globalSetup.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the page, and finds or raises the browser and an API server with our definitions. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await installPackages(await findMissingPackages(browserPackages), console.log);
  await execa('npm', ['run', 'build', '--silent', '-w', '@agentfleet/dashboard'], { cwd: root });
  return contract(project);
}
