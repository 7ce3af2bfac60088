const HASH_BYTES = 32
const BLOCK_BYTES = 64
const LENGTH_BYTES = 8

const wordsOf = (hex: string): Int32Array => Int32Array.from(hex.split(/\s+/), (word) => Number.parseInt(word, 16) | 0)
/** Constants of the rounds, and the initial hash value (FIPS 180-4 §4.2.2 and §5.3.3). */
const ROUNDS = wordsOf(`428a2f98 71374491 b5c0fbcf e9b5dba5 3956c25b 59f111f1 923f82a4 ab1c5ed5
  d807aa98 12835b01 243185be 550c7dc3 72be5d74 80deb1fe 9bdc06a7 c19bf174
  e49b69c1 efbe4786 0fc19dc6 240ca1cc 2de92c6f 4a7484aa 5cb0a9dc 76f988da
  983e5152 a831c66d b00327c8 bf597fc7 c6e00bf3 d5a79147 06ca6351 14292967
  27b70a85 2e1b2138 4d2c6dfc 53380d13 650a7354 766a0abb 81c2c92e 92722c85
  a2bfe8a1 a81a664b c24b8b70 c76c51a3 d192e819 d6990624 f40e3585 106aa070
  19a4c116 1e376c08 2748774c 34b0bcb5 391c0cb3 4ed8aa4a 5b9cca4f 682e6ff3
  748f82ee 78a5636f 84c87814 8cc70208 90befffa a4506ceb bef9a3f7 c67178f2`)
const INITIAL = wordsOf('6a09e667 bb67ae85 3c6ef372 a54ff53a 510e527f 9b05688c 1f83d9ab 5be0cd19')

const words = new Int32Array(BLOCK_BYTES)
const state = new Int32Array(HASH_BYTES / 4)
/** End of a text: its last bytes, the padding and the length. */
const tail = new Uint8Array(2 * BLOCK_BYTES)

/** Sets the 64 words of a block (FIPS 180-4 §6.2.2, step 1). */
const readBlock = (bytes: Uint8Array, from: number): void => {
  for (let t = 0, at = from; t < 16; t++, at += 4)
    words[t] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
  for (let t = 16; t < BLOCK_BYTES; t++) {
    const a = words[t - 15]!
    const b = words[t - 2]!
    const low = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3)
    const high = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10)
    words[t] = (words[t - 16]! + low + words[t - 7]! + high) | 0
  }
}

/** Compresses a block into `state` (FIPS 180-4 §6.2.2, steps 2 to 4). */
const compress = (bytes: Uint8Array, from: number): void => {
  readBlock(bytes, from)
  let a = state[0]!
  let b = state[1]!
  let c = state[2]!
  let d = state[3]!
  let e = state[4]!
  let f = state[5]!
  let g = state[6]!
  let h = state[7]!
  for (let t = 0; t < BLOCK_BYTES; t++) {
    const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const one = (h + high + ((e & f) ^ (~e & g)) + ROUNDS[t]! + words[t]!) | 0
    const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

/** Compresses the bytes from a position to the end, with padding and length (FIPS 180-4 §5.1.1). */
const compressEnd = (bytes: Uint8Array, from: number): void => {
  const { length } = bytes
  const end = length - from + 1 + LENGTH_BYTES > BLOCK_BYTES ? 2 * BLOCK_BYTES : BLOCK_BYTES
  tail.fill(0)
  tail.set(bytes.subarray(from))
  tail[length - from] = 0x80
  for (let n = 1, bits = length * 8; bits > 0; n++, bits = Math.floor(bits / 256)) tail[end - n] = bits % 256
  for (let at = 0; at < end; at += BLOCK_BYTES) compress(tail, at)
}

/**
 * Returns the SHA-256 of bytes (FIPS 180-4). WebCrypto returns a promise for each hash and exists only in secure
 * contexts (docs/decisions/0045).
 */
export const sha256 = (bytes: Uint8Array): Uint8Array => {
  state.set(INITIAL)
  let from = 0
  for (; from + BLOCK_BYTES <= bytes.length; from += BLOCK_BYTES) compress(bytes, from)
  compressEnd(bytes, from)
  const hash = new Uint8Array(HASH_BYTES)
  for (let n = 0; n < HASH_BYTES; n++) hash[n] = state[n >> 2]! >>> (24 - 8 * (n & 3))
  return hash
}
