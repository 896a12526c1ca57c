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
        .map((test) => `${module.relativeModuleId} > ${test.fullName}: ${firstLine(test.result().errors?.[0]?.message)}`),
    );
    await writeFile(path, JSON.stringify(names));
  }
}

/** Why the first try failed: nothing else prints it. */
function firstLine(message: string | undefined): string {
  return message?.split('\n')[0] ?? 'it did not say why';
}
