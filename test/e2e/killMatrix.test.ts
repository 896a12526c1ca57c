import { useMatrix } from './matrix/suite.ts';

// What the task and its pool have of their own; what others need as well dies in killShared.test.ts.
useMatrix('own', false);
