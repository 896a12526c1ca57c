import { useMatrix } from './matrix/suite.ts';

// What other namespaces need as well; what a task and its pool have of their own dies in killMatrix.test.ts.
useMatrix('shared', true);
