import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'
import { backtracking } from './backtracking.ts'

type Numbers = Uint16Array | Uint32Array

/**
 * Counts the characters that a function reads. For builtins it counts the worst case: a search reads each character
 * once per character of the part, and a regular expression backtracks without memoization.
 */
export const looksOf = (work: () => void): number => {
  let looks = 0
  const patched: (() => void)[] = []
  const patch = <O extends object, K extends keyof O>(of: O, name: K, by: (before: O[K]) => O[K]) => {
    const before = of[name]
    of[name] = by(before)
    patched.push(() => void (of[name] = before))
  }
  /** Tables prepared for a search, whose reads count as well. */
  const counted = <T extends Numbers>(table: T): T =>
    new Proxy(table, {
      get: (of, name) => {
        looks++
        return Reflect.get(of, name) as unknown
      },
      set: (of, name, value) => Reflect.set(of, name, value),
    })
  const countedTables = <C extends Uint16ArrayConstructor | Uint32ArrayConstructor>(tables: C): C =>
    new Proxy(tables, {
      construct: (of, given) => counted(Reflect.construct(of, given) as Numbers),
      get: (of, name) =>
        name === 'from'
          ? (...given: readonly unknown[]) => counted(Reflect.apply(of.from, of, given) as Numbers)
          : (Reflect.get(of, name) as unknown),
    })

  patch(String.prototype, 'charCodeAt', (before) => {
    return function (this: string, at) {
      looks++
      return before.call(this, at)
    }
  })
  patch(String.prototype, 'includes', (before) => {
    return function (this: string, part, from) {
      looks += this.length * Math.max(1, part.length)
      return before.call(this, part, from)
    }
  })
  patch(JSON, 'parse', (before) => (text, reviver) => {
    looks += text.length
    return before(text, reviver) as unknown
  })
  patch(RegExp.prototype, 'exec', (before) => {
    return function (this: RegExp, text) {
      const { looks: more, is } = backtracking(this, text)
      const found = before.call(this, text)
      if (is !== (found !== null)) throw new Error(`/${this.source}/ is counted as another pattern`)
      looks += more
      return found
    }
  })
  patch(globalThis, 'Uint16Array', countedTables)
  patch(globalThis, 'Uint32Array', countedTables)
  patch(zlib, 'crc32', (before) => (text, value) => {
    looks += typeof text === 'string' ? text.length : text.byteLength
    return before(text, value)
  })
  syncBuiltinESMExports()
  try {
    work()
    return looks
  } finally {
    for (const undo of patched) undo()
    syncBuiltinESMExports()
  }
}
