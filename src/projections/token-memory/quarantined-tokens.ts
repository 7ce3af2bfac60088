/** Ids of quarantined tokens by the key of their digest, so that their holders get `event_unreadable`. */
export const quarantinedTokens = () => {
  const ids = new Map<string, string>()
  return {
    close: (key: string, id: string): void => void ids.set(key, id),
    /** Removes a token. Returns its key if it was quarantined. */
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
