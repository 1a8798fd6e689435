// Owns the validation of labels, annotations and label selectors wherever they stand.
import type { LabelSelector } from '../generated/meta.v1.ts';
import type { Frozen } from '../meta.ts';
import { labelValue, qualifiedName } from '../names.ts';
import type { Problems } from './problems.ts';

type Strings = Readonly<Record<string, string>>;

export function validateLabels(problems: Problems, path: string, labels: Strings | undefined): void {
  for (const key in labels) {
    problems.each(path, key, qualifiedName(key));
    problems.each(path, labels[key], labelValue(labels[key]!));
  }
}

const maxAnnotationsBytes = 256 * 1024;

export function validateAnnotations(problems: Problems, path: string, annotations: Strings | undefined): void {
  let bytes = 0;
  for (const key in annotations) {
    problems.each(path, key, qualifiedName(key.toLowerCase()));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key]!);
  }
  if (bytes > maxAnnotationsBytes) problems.tooLong(path, maxAnnotationsBytes);
}

/** What users tell signers of certificates: as annotations, each key with its owner's domain. */
export function validateUserAnnotations(problems: Problems, path: string, annotations: Strings | undefined): void {
  validateAnnotations(problems, path, annotations);
  for (const key in annotations)
    if (!key.includes('/') && qualifiedName(key.toLowerCase()).length === 0)
      problems.invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")');
}

export function validateLabelSelector(
  problems: Problems,
  path: string,
  selector: Frozen<LabelSelector> | undefined,
): void {
  if (!selector) return;
  validateLabels(problems, `${path}.matchLabels`, selector.matchLabels);
  selector.matchExpressions?.forEach((requirement, at) => {
    const here = `${path}.matchExpressions[${at}]`;
    const count = requirement.values?.length ?? 0;
    switch (requirement.operator) {
      case 'In':
      case 'NotIn':
        if (count === 0) problems.required(`${here}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
        break;
      case 'Exists':
      case 'DoesNotExist':
        if (count > 0)
          problems.forbidden(`${here}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        break;
      default:
        problems.invalid(`${here}.operator`, requirement.operator, 'not a valid selector operator');
    }
    problems.each(`${here}.key`, requirement.key, qualifiedName(requirement.key));
    requirement.values?.forEach((value, i) => problems.each(`${here}.values[${i}]`, value, labelValue(value)));
  });
}
