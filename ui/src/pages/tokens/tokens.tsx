export const Tokens = () => null
