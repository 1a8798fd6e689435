// Owns which pages of other origins may speak with the server in a browser: none, unless the operator names them. Pure.

export class CorsPatternError extends Error {
  override readonly name = 'CorsPatternError';
}

export interface Cors {
  /** What is said to a request from `origin`; undefined: nothing, and the browser refuses. */
  headersFor(origin: string): Readonly<Record<string, string>> | undefined;
}

/** Patterns must hold the origin at both ends: "example.com" alone would let "example.com.evil.org" in. Throws CorsPatternError. */
export function cors(patterns: readonly string[]): Cors {
  const compiled = patterns.map((pattern) => {
    if (!/^(\^|\/\/|\(\?i\)(\^|\/\/))/.test(pattern) || !/(\$|:)$/.test(pattern))
      throw new CorsPatternError(
        `${pattern} must begin with ^ or // (the start of the host) and end with $ or : (the start of the port)`,
      );
    try {
      return new RegExp(pattern.replace(/^\(\?i\)/, ''), pattern.startsWith('(?i)') ? 'i' : '');
    } catch (error) {
      throw new CorsPatternError(`${pattern}: ${(error as Error).message}`);
    }
  });
  return {
    headersFor(origin) {
      // Longer than any origin is, and work for the patterns.
      if (origin.length > 512 || !compiled.some((pattern) => pattern.test(origin))) return undefined;
      return {
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Allow-Methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
        'Access-Control-Allow-Headers':
          'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
        'Access-Control-Expose-Headers': 'Date',
        'Access-Control-Allow-Credentials': 'true',
        Vary: 'Origin',
      };
    },
  };
}
