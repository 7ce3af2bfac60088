export const Flags = () => null
