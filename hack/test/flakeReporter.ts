import { writeFile } from 'node:fs/promises';
import type { TestModule } from 'vitest/node';

/** A reporter of vitest: writes the names of tests that passed only when they were tried again to the file in AGENTFLEET_FLAKES. */
export default class FlakeReporter {
  async onTestRunEnd(modules: readonly Pick<TestModule, 'children' | 'relativeModuleId'>[]): Promise<void> {
    const path = process.env['AGENTFLEET_FLAKES'];
    if (path === undefined) return;
    const names = modules.flatMap((module) =>
      [...module.children.allTests('passed')]
        .filter((test) => test.diagnostic()?.flaky === true)
        .map((test) => `${module.relativeModuleId} > ${test.fullName}`),
    );
    await writeFile(path, JSON.stringify(names));
  }
}
