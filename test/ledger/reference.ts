import { createHash } from 'node:crypto'

const sha256 = (...parts: readonly Uint8Array[]) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const halfOf = (n: number) => {
  let k = 1
  while (2 * k < n) k *= 2
  return k
}

/** MTH of RFC 6962 §2.1, from the definition. */
export const rootOf = (leaves: readonly Uint8Array[]): Uint8Array => {
  if (leaves.length === 0) return sha256()
  if (leaves.length === 1) return leaves[0]!
  const k = halfOf(leaves.length)
  return sha256(Uint8Array.of(1), rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)))
}

/** PATH of RFC 6962 §2.1.1, from the definition. */
export const pathOf = (m: number, leaves: readonly Uint8Array[]): readonly Uint8Array[] => {
  if (leaves.length === 1) return []
  const k = halfOf(leaves.length)
  return m < k
    ? [...pathOf(m, leaves.slice(0, k)), rootOf(leaves.slice(k))]
    : [...pathOf(m - k, leaves.slice(k)), rootOf(leaves.slice(0, k))]
}

/** PROOF of RFC 6962 §2.1.2, from the definition. */
export const consistencyOf = (m: number, leaves: readonly Uint8Array[], isWhole = true): readonly Uint8Array[] => {
  if (m === leaves.length) return isWhole ? [] : [rootOf(leaves)]
  const k = halfOf(leaves.length)
  return m <= k
    ? [...consistencyOf(m, leaves.slice(0, k), isWhole), rootOf(leaves.slice(k))]
    : [...consistencyOf(m - k, leaves.slice(k), false), rootOf(leaves.slice(0, k))]
}
