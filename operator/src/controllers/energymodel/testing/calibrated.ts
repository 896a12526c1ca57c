import { featureSet, type HeadCalibration } from '@agentfleet/protocol/inference';
import { type Deployment, type Pod, resources } from '../../../runtime/resources.ts';
import type { AskInfo } from '../../../serving/index.ts';

/** Figures that a verifier reports of itself. */
export interface VerifierFigures {
  readonly auc?: number;
  readonly ece?: number;
  readonly brier?: number;
  readonly samples?: number;
  /** Probabilities of its knots, by rising energy. */
  readonly knots?: readonly number[];
  readonly features?: string;
  /** Without a calibration: it reports none. */
  readonly uncalibrated?: true;
}

interface Objects {
  objects(resource: typeof resources.pods): readonly Pod[];
  objects(resource: typeof resources.deployments): readonly Deployment[];
}

const digit = (artifact: string): string => String(Array.from(artifact).reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 10);

/** Digest of the calibration of an artifact. */
export const calibrationDigest = (artifact: string): string => `sha256:${digit(artifact).repeat(64)}`;

function headOf({ auc = 0.9, ece = 0.01, brier, samples = 500, knots: reported = [0.5] }: VerifierFigures): HeadCalibration {
  const knots = reported.map((probability, energy) => ({ energy, probability }));
  const figures = { auc, ece, ...(brier === undefined ? {} : { brier }) };
  return { name: 'Code', samples, ...figures, vetoBelowProbability: auc / 10, warnBelowProbability: auc / 5, knots };
}

/** Answers of verifiers, each by the artifact that its Deployment names; those of which nothing is known do not answer. */
export function verifiers(objects: Objects, reported: Readonly<Record<string, VerifierFigures>>): AskInfo {
  return (origin) => {
    const pod = objects.objects(resources.pods).find(({ status }) => origin.includes(`//${status?.podIP ?? ''}:`));
    const owner = pod?.metadata.ownerReferences?.[0]?.name;
    const deployment = objects.objects(resources.deployments).find(({ metadata }) => metadata.name === owner);
    const [container] = (deployment as Templated | undefined)?.spec?.template?.spec?.containers ?? [];
    const artifact = container?.env?.find(({ name }) => name === 'AGENTFLEET_ARTIFACT')?.value ?? '';
    const one = reported[artifact];
    if (one === undefined) return Promise.reject(new Error('nobody answers'));
    const calibration = {
      digest: calibrationDigest(artifact),
      featureSet: one.features ?? featureSet,
      fittedAt: '2020-01-01T00:00:00Z',
      heads: [headOf(one)],
    };
    const sha = (of: string): string => `sha256:${digit(of + artifact).repeat(64)}`;
    return Promise.resolve({
      modelDigest: sha('model'),
      shadow: null,
      about: { artifactDigest: sha('artifact') },
      ...(one.uncalibrated === true ? {} : { calibration }),
    });
  };
}

interface Templated {
  readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } } };
}

interface Container {
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}
