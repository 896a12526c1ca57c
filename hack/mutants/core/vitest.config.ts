// hack, mutants/core: Vitest settings for mutation tests of core modules. May import any package.
import { defineConfig } from 'vitest/config';

/** The tests of the modules that `npm run mutants:core` changes: they need no cluster and no process. */
export default defineConfig({
  test: {
    include: ['operator/src/{placement,rollout}/**/*.test.ts', 'operator/src/controllers/agenttask/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    testTimeout: 180_000,
  },
});
