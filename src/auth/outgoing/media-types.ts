/**
 * `Accept` header for a JSON Web Key Set: its own type (RFC 7517 §8.5), or plain JSON. A Kubernetes API server answers
 * 406 to a request that accepts plain JSON only.
 */
export const KEY_SET = 'application/jwk-set+json, application/json;q=0.9'
