// page.js - a page with data embedded by C.

prepare();
show(decodePage());
ready();
