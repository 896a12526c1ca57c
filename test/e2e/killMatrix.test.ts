import { useMatrix } from './matrix/suite.ts';

// Kills parts of the task and its pool; shared parts are killed in killShared.test.ts.
useMatrix('own', false);
