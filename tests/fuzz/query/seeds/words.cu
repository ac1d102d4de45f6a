a[i]+=b cp.async AND
