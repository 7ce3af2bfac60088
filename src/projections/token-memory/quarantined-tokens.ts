/** The tokens whose streams cannot be read, by the key of their digest: their holders are known by it. */
export const quarantinedTokens = () => {
  const ids = new Map<string, string>()
  return {
    close: (key: string, id: string): void => void ids.set(key, id),
    /** Takes a token out again; gives its key where it was closed. */
    open: (id: string): string | undefined => {
      for (const [key, of] of ids) {
        if (of !== id) continue
        ids.delete(key)
        return key
      }
      return undefined
    },
    id: (key: string): string | undefined => ids.get(key),
  }
}
