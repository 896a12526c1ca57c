import { useMatrix } from './matrix/suite.ts';

// Kills parts shared with other namespaces; parts of a task and its pool are killed in killMatrix.test.ts.
useMatrix('shared', true);
