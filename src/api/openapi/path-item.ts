// Owns a path of the documents: its operations, and the parameters that they share. How either is written is the version's.
import { methods, type SlimOperation, type SlimPath } from './facts.ts';
import { parameterText, type Place, type Texts } from './texts.ts';

/** How a version of the documents writes the parts of a path. */
export interface PathWriter {
  operation(operation: SlimOperation, texts: Texts, place: Place): Record<string, unknown>;
  parameter(parameter: string, description: string | undefined): Record<string, unknown>;
}

export function pathItem(at: string, path: SlimPath, texts: Texts, write: PathWriter): Record<string, unknown> {
  const item: Record<string, unknown> = {};
  for (const method of methods) {
    const operation = path[method];
    if (operation !== undefined) item[method] = write.operation(operation, texts, { path: at, method, operation });
  }
  const operation = methods.map((method) => path[method]).find((one) => one?.gvk !== undefined);
  const { parameters = [] } = path;
  if (parameters.length > 0)
    item['parameters'] = parameters.map((text) =>
      write.parameter(text, parameterText(texts, text, { path: at, operation })),
    );
  return item;
}
